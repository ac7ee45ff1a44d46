// RUN: %ingot_opt %s --split-input-file --ingot-fuse-norm | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @sum_then_norm
  // CHECK: %[[NORM:.+]], %[[SUM:.+]] = llm.norm %arg0 plus(%arg1
  // CHECK-NOT: llm.pointwise
  // CHECK: %[[CUT:.+]] = llm.boundary %[[SUM]] ends "layers.0"
  // CHECK: return %[[NORM]], %[[CUT]]
  func.func @sum_then_norm(%x: tensor<?x8xf32, "T">, %y: tensor<?x8xf32, "T">)
      -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %0 = llm.pointwise %x, %y : (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      llm.yield %s : f32
    }
    %1 = llm.boundary %0 ends "layers.0" : tensor<?x8xf32, "T">
    %2 = llm.norm %1 eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    return %2, %1 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-norm" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // What stands behind the cut, before the norm, reads the sum too.
  // CHECK-LABEL: @between
  // CHECK: llm.norm %arg0 plus(%arg1
  // CHECK-NEXT: %[[CUT:.+]] = llm.boundary
  // CHECK-NEXT: llm.slice_columns %[[CUT]]
  func.func @between(%x: tensor<?x8xf32, "T">, %y: tensor<?x8xf32, "T">)
      -> (tensor<?x4xf32, "T">, tensor<?x8xf32, "T">) {
    %0 = llm.pointwise %x, %y : (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      llm.yield %s : f32
    }
    %1 = llm.boundary %0 ends "layers.0" : tensor<?x8xf32, "T">
    %2 = llm.slice_columns %1 from 4 : tensor<?x8xf32, "T"> -> tensor<?x4xf32, "T">
    %3 = llm.norm %1 eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    return %2, %3 : tensor<?x4xf32, "T">, tensor<?x8xf32, "T">
  }
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // LayerNorm stays one, with its bias.
  // CHECK-LABEL: @layer_norm
  // CHECK: llm.norm %arg0 plus(%arg1 : tensor<?x8xf32, "T">) centered weight(%arg2 : tensor<8xf32>) bias(%arg3 : tensor<8xf32>)
  func.func @layer_norm(%x: tensor<?x8xf32, "T">, %y: tensor<?x8xf32, "T">, %w: tensor<8xf32>,
      %b: tensor<8xf32>) -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %0 = llm.pointwise %x, %y : (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%a: f32, %c: f32):
      %s = arith.addf %a, %c : f32
      llm.yield %s : f32
    }
    %1 = llm.norm %0 centered weight(%w : tensor<8xf32>) bias(%b : tensor<8xf32>) eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    return %1, %0 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-norm" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @product_is_no_sum
  // CHECK: llm.pointwise
  // CHECK: llm.norm %{{[0-9]+}} eps
  func.func @product_is_no_sum(%x: tensor<?x8xf32, "T">, %y: tensor<?x8xf32, "T">)
      -> tensor<?x8xf32, "T"> {
    %0 = llm.pointwise %x, %y : (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.mulf %a, %b : f32
      llm.yield %s : f32
    }
    %1 = llm.norm %0 eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-norm" {{.*}} applied false because "its input is not a sum"
}

// -----

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @target_declines
  // CHECK: llm.pointwise
  func.func @target_declines(%x: tensor<?x8xf32, "T">, %y: tensor<?x8xf32, "T">)
      -> tensor<?x8xf32, "T"> {
    %0 = llm.pointwise %x, %y : (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      llm.yield %s : f32
    }
    %1 = llm.norm %0 eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-norm" {{.*}} applied false because "the reference target
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @heads
  // CHECK: llm.pointwise
  // CHECK: llm.norm %{{[0-9]+}} eps
  func.func @heads(%x: tensor<?x8xf32, "T">, %y: tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    %0 = llm.pointwise %x, %y : (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      llm.yield %s : f32
    }
    %1 = llm.norm %0 eps 1.0e-5 head_dim 4 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-norm" {{.*}} applied false because "each head is normed by itself"
}
