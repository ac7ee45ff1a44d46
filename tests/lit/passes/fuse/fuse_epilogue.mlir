// RUN: %ingot_opt %s --split-input-file --ingot-fuse-epilogue | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @bias
  // CHECK: llm.matmul %arg0, %{{.+}} with(%{{.+}} : tensor<8xf32>)
  // CHECK: ^bb0(%[[SUM:.+]]: f32, %[[BIAS:.+]]: f32):
  // CHECK: arith.addf %[[SUM]], %[[BIAS]]
  // CHECK-NOT: llm.pointwise
  func.func @bias(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xbf16>
    %b = llm.weight "b" from "f" at 256 : tensor<8xf32>
    %0 = llm.matmul %x, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %1 = llm.pointwise %0, %b : (tensor<?x8xf32, "T">, tensor<8xf32>) -> tensor<?x8xf32, "T"> {
    ^bb0(%s: f32, %c: f32):
      %2 = arith.addf %s, %c : f32
      llm.yield %2 : f32
    }
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-epilogue" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @product_is_shared
  // CHECK: llm.pointwise
  func.func @product_is_shared(%x: tensor<?x16xf32, "T">) -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xbf16>
    %b = llm.weight "b" from "f" at 256 : tensor<8xf32>
    %0 = llm.matmul %x, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %1 = llm.pointwise %0, %b : (tensor<?x8xf32, "T">, tensor<8xf32>) -> tensor<?x8xf32, "T"> {
    ^bb0(%s: f32, %c: f32):
      %2 = arith.addf %s, %c : f32
      llm.yield %2 : f32
    }
    return %0, %1 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-epilogue" {{.*}} applied false because "the product has other users"
}
