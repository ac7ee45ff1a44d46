// RUN: %ingot_opt %s --split-input-file --ingot-fuse-swiglu | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // The products are stored as bf16 before the function: the epilogue rounds each sum first.
  // CHECK-LABEL: @pair
  // CHECK: %[[W:.+]] = llm.interleave_rows %{{.+}}, %{{.+}} block 16 : (tensor<24x32xbf16>, tensor<24x32xbf16>) -> tensor<64x32xbf16>
  // CHECK: llm.matmul %arg0, %[[W]] pair_offset 16 : tensor<?x32xbf16, "T">, tensor<64x32xbf16> -> tensor<?x24xbf16, "T">
  // CHECK: ^bb0(%[[G:.+]]: f32, %[[U:.+]]: f32):
  // CHECK: arith.truncf %[[G]]
  // CHECK: arith.extf
  // CHECK: arith.truncf %[[U]]
  // CHECK: arith.mulf
  // CHECK-NOT: llm.slice_columns
  // CHECK-NOT: llm.pointwise
  func.func @pair(%x: tensor<?x32xbf16, "T">) -> tensor<?x24xbf16, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<24x32xbf16>
    %u = llm.weight "u" from "f" at 1536 : tensor<24x32xbf16>
    %w = llm.concat_rows %g, %u : (tensor<24x32xbf16>, tensor<24x32xbf16>) -> tensor<48x32xbf16>
    %0 = llm.matmul %x, %w : tensor<?x32xbf16, "T">, tensor<48x32xbf16> -> tensor<?x48xbf16, "T">
    %1 = llm.slice_columns %0 from 0 : tensor<?x48xbf16, "T"> -> tensor<?x24xbf16, "T">
    %2 = llm.slice_columns %0 from 24 : tensor<?x48xbf16, "T"> -> tensor<?x24xbf16, "T">
    %3 = llm.pointwise %1, %2 : (tensor<?x24xbf16, "T">, tensor<?x24xbf16, "T">) -> tensor<?x24xbf16, "T"> {
    ^bb0(%a: f32, %b: f32):
      %4 = arith.mulf %a, %b : f32
      llm.yield %4 : f32
    }
    return %3 : tensor<?x24xbf16, "T">
  }
  // CHECK: engine.note "ingot-fuse-swiglu" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @half_is_kept
  // CHECK: llm.pointwise
  func.func @half_is_kept(%x: tensor<?x32xf32, "T">) -> (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) {
    %g = llm.weight "g" from "f" at 0 : tensor<24x32xbf16>
    %w = llm.concat_rows %g, %g : (tensor<24x32xbf16>, tensor<24x32xbf16>) -> tensor<48x32xbf16>
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<48x32xbf16> -> tensor<?x48xf32, "T">
    %1 = llm.slice_columns %0 from 0 : tensor<?x48xf32, "T"> -> tensor<?x24xf32, "T">
    %2 = llm.slice_columns %0 from 24 : tensor<?x48xf32, "T"> -> tensor<?x24xf32, "T">
    %3 = llm.pointwise %1, %2 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %4 = arith.mulf %a, %b : f32
      llm.yield %4 : f32
    }
    return %3, %1 : tensor<?x24xf32, "T">, tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-swiglu" {{.*}} applied false because "a half has other users"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @stored_as_one
  // CHECK: %[[W:.+]] = llm.permute_rows %{{.+}} digits [1, 2, 2, 16] order [0, 2, 1, 3] : tensor<64x32xbf16>
  // CHECK: llm.matmul %arg0, %[[W]] pair_offset 16
  // CHECK-NOT: llm.slice_columns
  func.func @stored_as_one(%x: tensor<?x32xf32, "T">) -> tensor<?x32xf32, "T"> {
    %w = llm.weight "gate_up" from "f" at 0 : tensor<64x32xbf16>
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<64x32xbf16> -> tensor<?x64xf32, "T">
    %1 = llm.slice_columns %0 from 0 : tensor<?x64xf32, "T"> -> tensor<?x32xf32, "T">
    %2 = llm.slice_columns %0 from 32 : tensor<?x64xf32, "T"> -> tensor<?x32xf32, "T">
    %3 = llm.pointwise %1, %2 : (tensor<?x32xf32, "T">, tensor<?x32xf32, "T">) -> tensor<?x32xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %4 = arith.mulf %a, %b : f32
      llm.yield %4 : f32
    }
    return %3 : tensor<?x32xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-swiglu" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @halves_without_padding
  // CHECK: llm.pointwise
  func.func @halves_without_padding(%x: tensor<?x32xf32, "T">) -> tensor<?x24xf32, "T"> {
    %w = llm.weight "gate_up" from "f" at 0 : tensor<48x32xbf16>
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<48x32xbf16> -> tensor<?x48xf32, "T">
    %1 = llm.slice_columns %0 from 0 : tensor<?x48xf32, "T"> -> tensor<?x24xf32, "T">
    %2 = llm.slice_columns %0 from 24 : tensor<?x48xf32, "T"> -> tensor<?x24xf32, "T">
    %3 = llm.pointwise %1, %2 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %4 = arith.mulf %a, %b : f32
      llm.yield %4 : f32
    }
    return %3 : tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-swiglu" {{.*}} applied false because "a half is no multiple of 16 rows"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // In a stack of experts each one's halves are interleaved, two experts' weights are no halves.
  // CHECK-LABEL: @experts
  // CHECK: %[[W:.+]] = llm.permute_rows %{{.+}} digits [2, 2, 2, 16] order [0, 2, 1, 3] : tensor<128x32xbf16>
  // CHECK: llm.matmul %arg0, %[[W]] pair_offset 16 groups(%arg1, %arg2 : tensor<?xi32, "T * 2">, tensor<3xi32>) : tensor<?x32xbf16, "T">, tensor<128x32xbf16> -> tensor<?x32xf32, "T * 2">
  // CHECK-NOT: llm.pointwise
  func.func @experts(%x: tensor<?x32xbf16, "T">, %o: tensor<?xi32, "T * 2">, %s: tensor<3xi32>) -> tensor<?x32xf32, "T * 2"> {
    %a = llm.weight "a" from "f" at 0 : tensor<64x32xbf16>
    %b = llm.weight "b" from "f" at 4096 : tensor<64x32xbf16>
    %w = llm.concat_rows %a, %b : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<128x32xbf16>
    %0 = llm.matmul %x, %w groups(%o, %s : tensor<?xi32, "T * 2">, tensor<3xi32>) : tensor<?x32xbf16, "T">, tensor<128x32xbf16> -> tensor<?x64xf32, "T * 2">
    %1 = llm.slice_columns %0 from 0 : tensor<?x64xf32, "T * 2"> -> tensor<?x32xf32, "T * 2">
    %2 = llm.slice_columns %0 from 32 : tensor<?x64xf32, "T * 2"> -> tensor<?x32xf32, "T * 2">
    %3 = llm.pointwise %1, %2 : (tensor<?x32xf32, "T * 2">, tensor<?x32xf32, "T * 2">) -> tensor<?x32xf32, "T * 2"> {
    ^bb0(%p: f32, %q: f32):
      %4 = arith.mulf %p, %q : f32
      llm.yield %4 : f32
    }
    return %3 : tensor<?x32xf32, "T * 2">
  }
  // CHECK: engine.note "ingot-fuse-swiglu" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @uneven_experts
  // CHECK: llm.pointwise
  func.func @uneven_experts(%x: tensor<?x32xbf16, "T">, %o: tensor<?xi32, "T * 2">, %s: tensor<3xi32>) -> tensor<?x24xf32, "T * 2"> {
    %w = llm.weight "w" from "f" at 0 : tensor<96x32xbf16>
    %0 = llm.matmul %x, %w groups(%o, %s : tensor<?xi32, "T * 2">, tensor<3xi32>) : tensor<?x32xbf16, "T">, tensor<96x32xbf16> -> tensor<?x48xf32, "T * 2">
    %1 = llm.slice_columns %0 from 0 : tensor<?x48xf32, "T * 2"> -> tensor<?x24xf32, "T * 2">
    %2 = llm.slice_columns %0 from 24 : tensor<?x48xf32, "T * 2"> -> tensor<?x24xf32, "T * 2">
    %3 = llm.pointwise %1, %2 : (tensor<?x24xf32, "T * 2">, tensor<?x24xf32, "T * 2">) -> tensor<?x24xf32, "T * 2"> {
    ^bb0(%p: f32, %q: f32):
      %4 = arith.mulf %p, %q : f32
      llm.yield %4 : f32
    }
    return %3 : tensor<?x24xf32, "T * 2">
  }
  // CHECK: engine.note "ingot-fuse-swiglu" {{.*}} applied false {{.*}}a half is no multiple of 16 rows
}
