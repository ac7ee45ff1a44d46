// RUN: %ingot_opt %s --split-input-file --ingot-quantize-activations | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
module attributes {engine.target = #x86, llm.compute = #llm.compute<i8>} {
  // Two products of one input share its quantized form.
  // CHECK-LABEL: @shared
  // CHECK: %[[Q:.+]], %[[S:.+]] = llm.quantize_activation %arg0 : tensor<?x64xf32, "T"> -> tensor<?x64xi8, "T">, tensor<?xf32, "T">
  // CHECK-COUNT-2: llm.matmul %[[Q]], %{{.+}} input_scales(%[[S]]
  // CHECK: llm.matmul %arg0
  // CHECK-NOT: llm.quantize_activation
  func.func @shared(%x: tensor<?x64xf32, "T">, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>, %f: tensor<8x64xbf16>)
      -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %0 = llm.matmul %x, %w scales(%s : tensor<8x1xf32>) #int8 : tensor<?x64xf32, "T">, tensor<8x64xi8> -> tensor<?x8xf32, "T">
    %1 = llm.matmul %x, %w scales(%s : tensor<8x1xf32>) #int8 : tensor<?x64xf32, "T">, tensor<8x64xi8> -> tensor<?x8xf32, "T">
    %2 = llm.matmul %x, %f : tensor<?x64xf32, "T">, tensor<8x64xbf16> -> tensor<?x8xf32, "T">
    return %0, %1, %2 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied true
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "a weight without encoding has no product with int8 activations"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @not_asked
  // CHECK-NOT: llm.quantize_activation
  func.func @not_asked(%x: tensor<?x64xf32, "T">, %w: tensor<8x64xbf16>) -> tensor<?x8xf32, "T"> {
    %0 = llm.matmul %x, %w : tensor<?x64xf32, "T">, tensor<8x64xbf16> -> tensor<?x8xf32, "T">
    return %0 : tensor<?x8xf32, "T">
  }
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#affine = #llm.encoding<"affine4", group = 32, zero_points = false>
module attributes {engine.target = #x86, llm.compute = #llm.compute<i8>} {
  // CHECK-LABEL: @offsets
  // CHECK: llm.quantize_activation
  func.func @offsets(%x: tensor<?x64xf32, "T">, %w: tensor<8x64xi4>, %s: tensor<8x2xf32>, %z: tensor<8x2xf32>) -> tensor<?x8xf32, "T"> {
    %0 = llm.matmul %x, %w scales(%s : tensor<8x2xf32>) zeros(%z : tensor<8x2xf32>) #affine : tensor<?x64xf32, "T">, tensor<8x64xi4> -> tensor<?x8xf32, "T">
    return %0 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#book = #llm.encoding<"codebook4", group = 32, zero_points = false>
module attributes {engine.target = #x86, llm.compute = #llm.compute<i8>} {
  // CHECK-LABEL: @code_books
  // CHECK: llm.quantize_activation
  // CHECK-NOT: llm.quantize_activation
  func.func @code_books(%x: tensor<?x64xf32, "T">, %w: tensor<8x64xi4>, %s: tensor<8x2xf32>) -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %integers = llm.literal "integers" dense<3.0> : tensor<16xf32> : tensor<16xf32>
    %others = llm.literal "others" dense<1.5> : tensor<16xf32> : tensor<16xf32>
    %0 = llm.matmul %x, %w scales(%s : tensor<8x2xf32>) zeros(%integers : tensor<16xf32>) #book : tensor<?x64xf32, "T">, tensor<8x64xi4> -> tensor<?x8xf32, "T">
    %1 = llm.matmul %x, %w scales(%s : tensor<8x2xf32>) zeros(%others : tensor<16xf32>) #book : tensor<?x64xf32, "T">, tensor<8x64xi4> -> tensor<?x8xf32, "T">
    return %0, %1 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied true
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "a weight in codebook4 has no product with int8 activations"
}

// -----

#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 100>
#affine = #llm.encoding<"affine4", group = 32, zero_points = false>
module attributes {engine.target = #cuda, llm.compute = #llm.compute<i8>} {
  // CHECK-LABEL: @offsets_on_cuda
  // CHECK-NOT: llm.quantize_activation
  func.func @offsets_on_cuda(%x: tensor<?x64xf32, "T">, %w: tensor<8x64xi4>, %s: tensor<8x2xf32>, %z: tensor<8x2xf32>) -> tensor<?x8xf32, "T"> {
    %0 = llm.matmul %x, %w scales(%s : tensor<8x2xf32>) zeros(%z : tensor<8x2xf32>) #affine : tensor<?x64xf32, "T">, tensor<8x64xi4> -> tensor<?x8xf32, "T">
    return %0 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "integer products have neither offsets nor codebooks here"
}

// -----

// Scales of the checkpoint: products that share one share the quantized input.
#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 100>
#fp8 = #llm.encoding<"fp8", group = 0, zero_points = false>
module attributes {engine.target = #cuda, llm.compute = #llm.compute<f8E4M3FN, static_scales = true>} {
  // CHECK-LABEL: @static
  // CHECK-DAG: %[[A:.+]] = llm.literal "{{.+}}.input_scale" dense<2.500000e-01> : tensor<1xf32>
  // CHECK-DAG: %[[B:.+]] = llm.literal "{{.+}}.input_scale" dense<5.000000e-01> : tensor<1xf32>
  // CHECK-DAG: %[[QA:.+]], %[[SA:.+]] = llm.quantize_activation %arg0 static(%[[A]] : tensor<1xf32>)
  // CHECK-DAG: %[[QB:.+]], %[[SB:.+]] = llm.quantize_activation %arg0 static(%[[B]] : tensor<1xf32>)
  // CHECK: llm.matmul %[[QA]], %{{.+}} input_scales(%[[SA]]
  // CHECK: llm.matmul %[[QA]], %{{.+}} input_scales(%[[SA]]
  // CHECK: llm.matmul %[[QB]], %{{.+}} input_scales(%[[SB]]
  // CHECK: llm.matmul %arg0
  // CHECK-NOT: llm.static_scale
  func.func @static(%x: tensor<?x64xbf16, "T">, %w: tensor<16x64xf8E4M3FN>, %s: tensor<16x1xf32>)
      -> (tensor<?x16xf32, "T">, tensor<?x16xf32, "T">, tensor<?x16xf32, "T">, tensor<?x16xf32, "T">) {
    %0 = llm.matmul %x, %w scales(%s : tensor<16x1xf32>) #fp8 {llm.static_scale = 0.25 : f32} : tensor<?x64xbf16, "T">, tensor<16x64xf8E4M3FN> -> tensor<?x16xf32, "T">
    %1 = llm.matmul %x, %w scales(%s : tensor<16x1xf32>) #fp8 {llm.static_scale = 0.25 : f32} : tensor<?x64xbf16, "T">, tensor<16x64xf8E4M3FN> -> tensor<?x16xf32, "T">
    %2 = llm.matmul %x, %w scales(%s : tensor<16x1xf32>) #fp8 {llm.static_scale = 0.5 : f32} : tensor<?x64xbf16, "T">, tensor<16x64xf8E4M3FN> -> tensor<?x16xf32, "T">
    %3 = llm.matmul %x, %w scales(%s : tensor<16x1xf32>) #fp8 : tensor<?x64xbf16, "T">, tensor<16x64xf8E4M3FN> -> tensor<?x16xf32, "T">
    return %0, %1, %2, %3 : tensor<?x16xf32, "T">, tensor<?x16xf32, "T">, tensor<?x16xf32, "T">, tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied true
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "the checkpoint has no scale for its input"
}

// -----

// What the recipe does not ask for is not taken.
#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 100>
#fp8 = #llm.encoding<"fp8", group = 0, zero_points = false>
module attributes {engine.target = #cuda} {
  // CHECK-LABEL: @not_static
  // CHECK-NOT: static
  func.func @not_static(%x: tensor<?x64xbf16, "T">, %w: tensor<16x64xf8E4M3FN>, %s: tensor<16x1xf32>) -> tensor<?x16xf32, "T"> {
    %0 = llm.matmul %x, %w scales(%s : tensor<16x1xf32>) #fp8 {llm.static_scale = 0.25 : f32} : tensor<?x64xbf16, "T">, tensor<16x64xf8E4M3FN> -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
#int4 = #llm.encoding<"int4", group = 48, zero_points = false>
module attributes {engine.target = #x86, llm.compute = #llm.compute<i8, group = 32>} {
  // CHECK-LABEL: @groups
  // A row that is one group has one scale.
  // CHECK: llm.quantize_activation %arg2 : tensor<?x32xf32, "T"> -> tensor<?x32xi8, "T">, tensor<?xf32, "T">
  // CHECK: %[[Q:.+]], %[[S:.+]] = llm.quantize_activation %arg0 : tensor<?x96xf32, "T"> -> tensor<?x96xi8, "T">, tensor<?x3xf32, "T">
  // CHECK: llm.matmul %[[Q]], %{{.+}} input_scales(%[[S]] : tensor<?x3xf32, "T">)
  // CHECK: llm.matmul %arg0
  // CHECK: llm.matmul %arg1
  func.func @groups(%x: tensor<?x96xf32, "T">, %y: tensor<?x70xf32, "T">, %z: tensor<?x32xf32, "T">,
      %w: tensor<8x96xi8>, %v: tensor<8x96xi4>, %u: tensor<8x70xi8>, %t: tensor<8x32xi8>,
      %s: tensor<8x1xf32>, %r: tensor<8x2xf32>)
      -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %0 = llm.matmul %x, %w scales(%s : tensor<8x1xf32>) #int8 : tensor<?x96xf32, "T">, tensor<8x96xi8> -> tensor<?x8xf32, "T">
    %1 = llm.matmul %x, %v scales(%r : tensor<8x2xf32>) #int4 : tensor<?x96xf32, "T">, tensor<8x96xi4> -> tensor<?x8xf32, "T">
    %2 = llm.matmul %y, %u scales(%s : tensor<8x1xf32>) #int8 : tensor<?x70xf32, "T">, tensor<8x70xi8> -> tensor<?x8xf32, "T">
    %3 = llm.matmul %z, %t scales(%s : tensor<8x1xf32>) #int8 : tensor<?x32xf32, "T">, tensor<8x32xi8> -> tensor<?x8xf32, "T">
    return %0, %1, %2, %3 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied true
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "groups of 32 columns do not fit the weight's of 48"
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "its 70 columns are no whole groups of 32 columns"
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied true
}

// -----

#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 100>
#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
module attributes {engine.target = #cuda, llm.compute = #llm.compute<i8, group = 32>} {
  // CHECK-LABEL: @no_groups
  // CHECK-NOT: llm.quantize_activation
  func.func @no_groups(%x: tensor<?x64xf32, "T">, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>) -> tensor<?x8xf32, "T"> {
    %0 = llm.matmul %x, %w scales(%s : tensor<8x1xf32>) #int8 : tensor<?x64xf32, "T">, tensor<8x64xi8> -> tensor<?x8xf32, "T">
    return %0 : tensor<?x8xf32, "T">
  }
  // CHECK: engine.note "ingot-quantize-activations" {{.*}} applied false because "the target's products have one scale for each row of inputs"
}
