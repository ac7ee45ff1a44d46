// RUN: %ingot_opt %s --split-input-file --ingot-choose-layouts | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // One packed copy of a tied weight serves both readers, in the product's layout.
  // CHECK-LABEL: @tied
  // CHECK: %[[P:.+]] = llm.pack %{{.+}} : tensor<40x32xbf16> -> tensor<40x32xbf16, #engine.layout<[0, 16, 3], [1, 1, 32], [0, 1, 16]>>
  // CHECK: llm.embed %arg0, %[[P]]
  // CHECK: llm.matmul %{{.+}}, %[[P]]
  func.func @tied(%t: tensor<?xi32, "T">) -> tensor<?x40xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<40x32xbf16>
    %0 = llm.embed %t, %w : tensor<?xi32, "T">, tensor<40x32xbf16> -> tensor<?x32xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x32xf32, "T">, tensor<40x32xbf16> -> tensor<?x40xf32, "T">
    return %1 : tensor<?x40xf32, "T">
  }
}

// -----

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @row_major
  // CHECK: llm.pack {{.*}} #engine.layout<[0, 1, 40], [1, 1, 32]>
  func.func @row_major(%x: tensor<?x32xf32, "T">) -> tensor<?x40xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<40x32xbf16>
    %1 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<40x32xbf16> -> tensor<?x40xf32, "T">
    return %1 : tensor<?x40xf32, "T">
  }
}

// -----

#sm_80 = #engine.target<"sm_80", backend = "cuda", arch = "sm_80", preference = 100>
!kv = !llm.kv<1 x 64 x bf16, block = 16>
module attributes {engine.target = #sm_80} {
  // CHECK-LABEL: @sinks
  // CHECK: %[[K:.+]] = llm.pack {{.*}} : tensor<2xbf16> -> tensor<2xbf16, #engine.layout<[0, 1, 2], [1, 1, 1]>>
  // CHECK: llm.attention {{.*}} sinks(%[[K]]
  func.func @sinks(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %c: !kv) -> tensor<?x128xbf16, "T"> {
    %k = llm.weight "k" from "f" at 0 : tensor<2xbf16>
    %0 = llm.attention %q at %p, %t, %b over %c sinks(%k : tensor<2xbf16>) scale 0.5 : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x128xbf16, "T">
    return %0 : tensor<?x128xbf16, "T">
  }
}
