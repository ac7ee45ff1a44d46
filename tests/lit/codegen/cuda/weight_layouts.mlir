// RUN: %ingot_opt %s --ingot-choose-layouts | FileCheck %s

// What one lane needs of 16 rows lies in 16 bytes, or what is not decoded in matrices of eight rows; scales and zero points of rows g and g + 8 lie
// side by side. Inputs in f32 leave weights in row-major order.
#cuda = #engine.target<"sm_80", backend = "cuda", arch = "sm_80", preference = 80>
#int4 = #llm.encoding<"int4", group = 64, zero_points = true>
#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
#fp8 = #llm.encoding<"fp8", group = 0, zero_points = false>
module attributes {engine.target = #cuda} {
  // CHECK-LABEL: @step
  func.func @step(%x: tensor<?x128xbf16, "T">, %q: tensor<?x128xi8, "T">, %qs: tensor<?xf32, "T">,
                  %f: tensor<?x128xf32, "T">) {
    %w4 = llm.weight "w4" from "f" at 0 : tensor<32x128xi4>
    %s4 = llm.weight "s4" from "f" at 0 : tensor<32x2xbf16>
    %z4 = llm.weight "z4" from "f" at 0 : tensor<32x2xi8>
    // CHECK-DAG: tensor<32x128xi4, #engine.layout<[0, 16, 2], [1, 64, 2], [0, 1, 8], [1, 2, 4], [1, 16, 4], [1, 1, 2], [1, 8, 2], [0, 8, 2]>>
    // CHECK-DAG: tensor<32x2xbf16, #engine.layout<[0, 16, 2], [1, 1, 2], [0, 1, 8], [0, 8, 2]>>
    // CHECK-DAG: tensor<32x2xi8, #engine.layout<[0, 16, 2], [1, 1, 2], [0, 1, 8], [0, 8, 2]>>
    %0 = llm.matmul %x, %w4 scales(%s4 : tensor<32x2xbf16>) zeros(%z4 : tensor<32x2xi8>) #int4
        : tensor<?x128xbf16, "T">, tensor<32x128xi4> -> tensor<?x32xf32, "T">
    %w8 = llm.weight "w8" from "f" at 0 : tensor<32x128xi8>
    %s8 = llm.weight "s8" from "f" at 0 : tensor<32x1xf32>
    // CHECK-DAG: tensor<32x128xi8, #engine.layout<[0, 16, 2], [1, 32, 4], [1, 16, 2], [0, 8, 2], [0, 1, 8], [1, 1, 16]>>
    %1 = llm.matmul %q, %w8 input_scales(%qs : tensor<?xf32, "T">) scales(%s8 : tensor<32x1xf32>) #int8
        : tensor<?x128xi8, "T">, tensor<32x128xi8> -> tensor<?x32xf32, "T">
    %wf = llm.weight "wf" from "f" at 0 : tensor<32x128xf8E4M3FN>
    %sf = llm.weight "sf" from "f" at 0 : tensor<32x1xf32>
    // CHECK-DAG: tensor<32x128xf8E4M3FN, #engine.layout<[0, 16, 2], [1, 32, 4], [0, 1, 8], [1, 2, 4], [1, 16, 2], [0, 8, 2], [1, 1, 2], [1, 8, 2]>>
    %2 = llm.matmul %x, %wf scales(%sf : tensor<32x1xf32>) #fp8
        : tensor<?x128xbf16, "T">, tensor<32x128xf8E4M3FN> -> tensor<?x32xf32, "T">
    %wr = llm.weight "wr" from "f" at 0 : tensor<32x128xf32>
    // CHECK-DAG: tensor<32x128xf32, #engine.layout<[0, 1, 32], [1, 1, 128]>>
    %3 = llm.matmul %f, %wr : tensor<?x128xf32, "T">, tensor<32x128xf32> -> tensor<?x32xf32, "T">
    return
  }
}
