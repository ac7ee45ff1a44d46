// RUN: %ingot_opt %s --split-input-file --ingot-fuse-quantize-activation | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @norm_quantizes
  // CHECK: llm.norm %arg0 eps {{.*}} store bf16 : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T"> scales tensor<?xf32, "T">
  // CHECK-NOT: llm.quantize_activation
  func.func @norm_quantizes(%x: tensor<?x8xf32, "T">) -> (tensor<?x8xi8, "T">, tensor<?xf32, "T">) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T">
    %1, %s = llm.quantize_activation %0 : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
    return %1, %s : tensor<?x8xi8, "T">, tensor<?xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-quantize-activation" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @no_norm
  // CHECK: llm.quantize_activation
  func.func @no_norm(%x: tensor<?x8xf32, "T">) -> (tensor<?x8xi8, "T">, tensor<?xf32, "T">) {
    %1, %s = llm.quantize_activation %x : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
    return %1, %s : tensor<?x8xi8, "T">, tensor<?xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-quantize-activation" {{.*}} applied false because "its input is not a norm"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @heads
  // CHECK: llm.quantize_activation
  func.func @heads(%x: tensor<?x8xf32, "T">) -> (tensor<?x8xi8, "T">, tensor<?xf32, "T">) {
    %0 = llm.norm %x eps 1.0e-5 head_dim 4 : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T">
    %1, %s = llm.quantize_activation %0 : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
    return %1, %s : tensor<?x8xi8, "T">, tensor<?xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-quantize-activation" {{.*}} applied false because "each head is normed by itself"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @static_scale
  // CHECK: llm.norm %arg0 static(%arg1 : tensor<1xf32>) eps {{.*}} store bf16 : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T"> scales tensor<?xf32, "T">
  // CHECK-NOT: llm.quantize_activation
  func.func @static_scale(%x: tensor<?x8xf32, "T">, %k: tensor<1xf32>) -> (tensor<?x8xi8, "T">, tensor<?xf32, "T">) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T">
    %1, %s = llm.quantize_activation %0 static(%k : tensor<1xf32>) : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
    return %1, %s : tensor<?x8xi8, "T">, tensor<?xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-quantize-activation" {{.*}} applied true
}
