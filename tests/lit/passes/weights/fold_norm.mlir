// RUN: %ingot_opt %s --split-input-file --ingot-fold-norm | FileCheck %s

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @folded
  // Scaled weights stand beside their sources, where products that are merged later can use them.
  // CHECK: %[[A:.+]] = llm.scale_columns %{{.+}}, %[[G:.+]] : (tensor<8x16xf32>, tensor<16xbf16>) -> tensor<8x16xf32>
  // CHECK: llm.norm %arg0 eps
  // CHECK: llm.matmul %{{.+}}, %[[A]]
  func.func @folded(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<16xbf16>
    %w = llm.weight "w" from "f" at 64 : tensor<8x16xf32>
    %0 = llm.norm %x weight(%g : tensor<16xbf16>) eps 1.0e-5 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x16xf32, "T">, tensor<8x16xf32> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fold-norm" {{.*}} applied true
}

// -----

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @bias
  // CHECK-NOT: llm.scale_columns
  func.func @bias(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<16xf32>
    %w = llm.weight "w" from "f" at 64 : tensor<8x16xf32>
    %0 = llm.norm %x centered weight(%g : tensor<16xf32>) bias(%g : tensor<16xf32>) eps 1.0e-5 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x16xf32, "T">, tensor<8x16xf32> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fold-norm" {{.*}} applied false because "the norm adds a bias"
}

// -----

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @narrow_weight
  // CHECK-NOT: llm.scale_columns
  func.func @narrow_weight(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<16xf32>
    %w = llm.weight "w" from "f" at 64 : tensor<8x16xbf16>
    %0 = llm.norm %x weight(%g : tensor<16xf32>) eps 1.0e-5 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fold-norm" {{.*}} applied false because "a weight is stored in another format than f32 and would be rounded again"
}

// -----

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @tied
  // CHECK-NOT: llm.scale_columns
  func.func @tied(%t: tensor<?xi32, "T">) -> tensor<?x8xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<16xf32>
    %w = llm.weight "w" from "f" at 64 : tensor<8x16xf32>
    %e = llm.embed %t, %w : tensor<?xi32, "T">, tensor<8x16xf32> -> tensor<?x16xf32, "T">
    %0 = llm.norm %e weight(%g : tensor<16xf32>) eps 1.0e-5 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x16xf32, "T">, tensor<8x16xf32> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fold-norm" {{.*}} applied false because "a weight has other readers (a tied embedding)"
}

// -----

#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #reference} {
  // CHECK-LABEL: @heads
  // CHECK-NOT: llm.scale_columns
  func.func @heads(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<4xf32>
    %w = llm.weight "w" from "f" at 64 : tensor<8x16xf32>
    %0 = llm.norm %x weight(%g : tensor<4xf32>) eps 1.0e-5 head_dim 4 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x16xf32, "T">, tensor<8x16xf32> -> tensor<?x8xf32, "T">
    return %1 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-fold-norm" {{.*}} applied false because "each head is normed by itself"
}
