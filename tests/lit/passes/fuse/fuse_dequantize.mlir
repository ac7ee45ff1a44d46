// RUN: %ingot_opt %s --split-input-file --ingot-fuse-dequantize | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#int4 = #llm.encoding<"int4", group = 32, zero_points = true>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @product
  // CHECK: %[[W:.+]] = llm.weight "w"
  // CHECK-NOT: llm.dequantize
  // CHECK: llm.matmul %arg0, %{{.+}} scales(%{{.+}} : tensor<48x2xbf16>) zeros(%{{.+}} : tensor<48x2xi8>) <"int4", group = 32, zero_points = true>
  func.func @product(%x: tensor<?x64xf32, "T">) -> tensor<?x48xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<48x64xf32>
    %q, %s, %z = llm.quantize %w <"int4", group = 32, zero_points = true> : (tensor<48x64xf32>) -> (tensor<48x64xi4>, tensor<48x2xbf16>, tensor<48x2xi8>)
    %d = llm.dequantize %q, %s, %z <"int4", group = 32, zero_points = true> : (tensor<48x64xi4>, tensor<48x2xbf16>, tensor<48x2xi8>) -> tensor<48x64xf32>
    %0 = llm.matmul %x, %d : tensor<?x64xf32, "T">, tensor<48x64xf32> -> tensor<?x48xf32, "T">
    return %0 : tensor<?x48xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-dequantize" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
module attributes {engine.target = #x86} {
  // A bias is read by a point-wise operation, which has no encoded form.
  // CHECK-LABEL: @pointwise_reads_values
  // CHECK: llm.dequantize
  func.func @pointwise_reads_values(%x: tensor<?x64xf32, "T">) -> tensor<?x64xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<1x64xf32>
    %q, %s = llm.quantize %w <"int8", group = 0, zero_points = false> : (tensor<1x64xf32>) -> (tensor<1x64xi8>, tensor<1x1xf32>)
    %d = llm.dequantize %q, %s <"int8", group = 0, zero_points = false> : (tensor<1x64xi8>, tensor<1x1xf32>) -> tensor<1x64xf32>
    %0 = llm.pointwise %x, %d : (tensor<?x64xf32, "T">, tensor<1x64xf32>) -> tensor<?x64xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.addf %a, %b : f32
      llm.yield %1 : f32
    }
    return %0 : tensor<?x64xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-dequantize" {{.*}} applied false because "only products and embeddings read encoded weights"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @scales_in_two_levels
  // CHECK-NOT: llm.dequantize
  // CHECK: llm.matmul %arg0, %{{.+}} scales(%{{.+}} : tensor<48x16xi8>) super_scales(%{{.+}} : tensor<48x1xf16>) <"int6", group = 16, zero_points = false, scales = blocks>
  func.func @scales_in_two_levels(%x: tensor<?x256xf32, "T">) -> tensor<?x48xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<48x210xi8>
    %q = llm.block_part %w "values" of "Q6_K" block 210 : tensor<48x210xi8> -> tensor<48x256xi6>
    %s = llm.block_part %w "scales" of "Q6_K" block 210 : tensor<48x210xi8> -> tensor<48x16xi8>
    %d = llm.block_part %w "super_scales" of "Q6_K" block 210 : tensor<48x210xi8> -> tensor<48x1xf16>
    %v = llm.dequantize %q, %s, %d <"int6", group = 16, zero_points = false, scales = blocks> : (tensor<48x256xi6>, tensor<48x16xi8>, tensor<48x1xf16>) -> tensor<48x256xf32>
    %0 = llm.matmul %x, %v : tensor<?x256xf32, "T">, tensor<48x256xf32> -> tensor<?x48xf32, "T">
    return %0 : tensor<?x48xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-dequantize" {{.*}} applied true
}
