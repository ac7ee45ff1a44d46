// RUN: %ingot_opt %s --split-input-file --ingot-merge-gate-up | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#int4 = #llm.encoding<"int4", group = 32, zero_points = false>
module attributes {engine.target = #x86} {
  // Values and scales are stacked as they are: nothing is quantized again.
  // CHECK-LABEL: @stacked
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<24x32xi4>, tensor<24x32xi4>) -> tensor<48x32xi4>
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<24x1xbf16>, tensor<24x1xbf16>) -> tensor<48x1xbf16>
  // CHECK: %[[BOTH:.+]] = llm.matmul
  // CHECK: llm.slice_columns %[[BOTH]] from 0
  // CHECK: llm.slice_columns %[[BOTH]] from 24
  // CHECK: llm.pointwise
  func.func @stacked(%x: tensor<?x32xf32, "T">) -> tensor<?x24xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<24x32xf32>
    %u = llm.weight "u" from "f" at 3072 : tensor<24x32xf32>
    %gq, %gs = llm.quantize %g <"int4", group = 32, zero_points = false> : (tensor<24x32xf32>) -> (tensor<24x32xi4>, tensor<24x1xbf16>)
    %uq, %us = llm.quantize %u <"int4", group = 32, zero_points = false> : (tensor<24x32xf32>) -> (tensor<24x32xi4>, tensor<24x1xbf16>)
    %0 = llm.matmul %x, %gq scales(%gs : tensor<24x1xbf16>) #int4 : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %1 = llm.matmul %x, %uq scales(%us : tensor<24x1xbf16>) #int4 : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %2 = llm.pointwise %0, %1 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %3 = arith.mulf %a, %b : f32
      llm.yield %3 : f32
    }
    return %2 : tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-gate-up" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#fp8 = #llm.encoding<"fp8", group = -1, zero_points = false>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @one_scale_each
  // CHECK-NOT: llm.concat_rows
  func.func @one_scale_each(%x: tensor<?x32xf32, "T">) -> tensor<?x24xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<24x32xf32>
    %u = llm.weight "u" from "f" at 3072 : tensor<24x32xf32>
    %gq, %gs = llm.quantize %g <"fp8", group = -1, zero_points = false> : (tensor<24x32xf32>) -> (tensor<24x32xf8E4M3FN>, tensor<1x1xf32>)
    %uq, %us = llm.quantize %u <"fp8", group = -1, zero_points = false> : (tensor<24x32xf32>) -> (tensor<24x32xf8E4M3FN>, tensor<1x1xf32>)
    %0 = llm.matmul %x, %gq scales(%gs : tensor<1x1xf32>) #fp8 : tensor<?x32xf32, "T">, tensor<24x32xf8E4M3FN> -> tensor<?x24xf32, "T">
    %1 = llm.matmul %x, %uq scales(%us : tensor<1x1xf32>) #fp8 : tensor<?x32xf32, "T">, tensor<24x32xf8E4M3FN> -> tensor<?x24xf32, "T">
    %2 = llm.pointwise %0, %1 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %3 = arith.mulf %a, %b : f32
      llm.yield %3 : f32
    }
    return %2 : tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-gate-up" {{.*}} applied false because "one scale per weight: stacking would need them quantized again"
}
