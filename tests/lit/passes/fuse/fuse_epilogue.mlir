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

// -----

// A function of the rounded sum comes behind the bias, and rounds as before.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @function_of_rounded
  // CHECK: llm.matmul %arg0, %{{.+}} with(%{{.+}} : tensor<8xf32>) {{.*}} -> tensor<?x8xf32, "T">
  // CHECK: ^bb0(%[[SUM:.+]]: f32, %[[BIAS:.+]]: f32):
  // CHECK: %[[WHOLE:.+]] = arith.addf %[[SUM]], %[[BIAS]]
  // CHECK: %[[NARROW:.+]] = arith.truncf %[[WHOLE]] : f32 to bf16
  // CHECK: %[[WIDE:.+]] = arith.extf %[[NARROW]] : bf16 to f32
  // CHECK: %[[TANH:.+]] = math.tanh %[[WIDE]]
  // CHECK: llm.yield %[[TANH]]
  // CHECK-NOT: llm.round
  // CHECK-NOT: llm.pointwise
  func.func @function_of_rounded(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xbf16>
    %b = llm.weight "b" from "f" at 256 : tensor<8xf32>
    %0 = llm.matmul %x, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %1 = llm.pointwise %0, %b : (tensor<?x8xf32, "T">, tensor<8xf32>) -> tensor<?x8xf32, "T"> {
    ^bb0(%s: f32, %c: f32):
      %2 = arith.addf %s, %c : f32
      llm.yield %2 : f32
    }
    %3 = llm.round %1 : tensor<?x8xf32, "T"> to tensor<?x8xbf16, "T">
    %4 = llm.pointwise %3 : (tensor<?x8xbf16, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%s: f32):
      %5 = math.tanh %s : f32
      llm.yield %5 : f32
    }
    return %4 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-epilogue" {{.*}} applied true
  // CHECK: engine.note "ingot-fuse-epilogue" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @rounded_is_shared
  // CHECK: llm.pointwise
  func.func @rounded_is_shared(%x: tensor<?x16xf32, "T">) -> (tensor<?x8xbf16, "T">, tensor<?x8xf32, "T">) {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xbf16>
    %0 = llm.matmul %x, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %1 = llm.round %0 : tensor<?x8xf32, "T"> to tensor<?x8xbf16, "T">
    %2 = llm.pointwise %1 : (tensor<?x8xbf16, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%s: f32):
      %3 = math.tanh %s : f32
      llm.yield %3 : f32
    }
    return %1, %2 : tensor<?x8xbf16, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-epilogue" {{.*}} applied false because "the product has other users"
}
