// RUN: %ingot_opt %s --split-input-file --ingot-fuse-round | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @stored_narrow
  // CHECK: llm.matmul {{.*}} -> tensor<?x8xbf16, "T">
  // CHECK-NOT: llm.round
  func.func @stored_narrow(%x: tensor<?x16xf32, "T">) -> tensor<?x8xbf16, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xbf16>
    %0 = llm.matmul %x, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %1 = llm.round %0 : tensor<?x8xf32, "T"> to tensor<?x8xbf16, "T">
    return %1 : tensor<?x8xbf16, "T">
  }
  // CHECK: engine.note "ingot-fuse-round" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @also_unrounded
  // CHECK: llm.round
  func.func @also_unrounded(%x: tensor<?x16xf32, "T">) -> (tensor<?x8xf32, "T">, tensor<?x8xbf16, "T">) {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xbf16>
    %0 = llm.matmul %x, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %1 = llm.round %0 : tensor<?x8xf32, "T"> to tensor<?x8xbf16, "T">
    return %0, %1 : tensor<?x8xf32, "T">, tensor<?x8xbf16, "T">
  }
  // CHECK: engine.note "ingot-fuse-round" {{.*}} applied false because "the value is also used unrounded"
}
