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

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#book = #llm.encoding<"codebook4", group = 32, zero_points = false>
module attributes {engine.target = #x86} {
  // One code book serves both; it is not stacked.
  // CHECK-LABEL: @one_code_book
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<24x32xi4>, tensor<24x32xi4>) -> tensor<48x32xi4>
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<24x1xf16>, tensor<24x1xf16>) -> tensor<48x1xf16>
  // CHECK-NOT: llm.concat_rows
  // CHECK: llm.matmul {{.*}} zeros(%{{.+}} : tensor<16xf32>)
  func.func @one_code_book(%x: tensor<?x32xf32, "T">) -> tensor<?x24xf32, "T"> {
    %g = llm.weight "g" from "f" at 0 : tensor<24x18xi8>
    %u = llm.weight "u" from "f" at 432 : tensor<24x18xi8>
    %gb = llm.literal "IQ4_NL.codebook" dense<1.0> : tensor<16xf32> : tensor<16xf32>
    %ub = llm.literal "IQ4_NL.codebook" dense<1.0> : tensor<16xf32> : tensor<16xf32>
    %gq = llm.block_part %g "values" of "IQ4_NL" block 18 : tensor<24x18xi8> -> tensor<24x32xi4>
    %gs = llm.block_part %g "scales" of "IQ4_NL" block 18 : tensor<24x18xi8> -> tensor<24x1xf16>
    %uq = llm.block_part %u "values" of "IQ4_NL" block 18 : tensor<24x18xi8> -> tensor<24x32xi4>
    %us = llm.block_part %u "scales" of "IQ4_NL" block 18 : tensor<24x18xi8> -> tensor<24x1xf16>
    %0 = llm.matmul %x, %gq scales(%gs : tensor<24x1xf16>) zeros(%gb : tensor<16xf32>) #book : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %1 = llm.matmul %x, %uq scales(%us : tensor<24x1xf16>) zeros(%ub : tensor<16xf32>) #book : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
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
#book = #llm.encoding<"codebook4", group = 32, zero_points = false>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @other_code_books
  // CHECK-NOT: llm.concat_rows
  func.func @other_code_books(%x: tensor<?x32xf32, "T">, %gq: tensor<24x32xi4>, %gs: tensor<24x1xf16>,
      %uq: tensor<24x32xi4>, %us: tensor<24x1xf16>) -> tensor<?x24xf32, "T"> {
    %gb = llm.literal "one" dense<1.0> : tensor<16xf32> : tensor<16xf32>
    %ub = llm.literal "two" dense<2.0> : tensor<16xf32> : tensor<16xf32>
    %0 = llm.matmul %x, %gq scales(%gs : tensor<24x1xf16>) zeros(%gb : tensor<16xf32>) #book : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %1 = llm.matmul %x, %uq scales(%us : tensor<24x1xf16>) zeros(%ub : tensor<16xf32>) #book : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %2 = llm.pointwise %0, %1 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %b: f32):
      %3 = arith.mulf %a, %b : f32
      llm.yield %3 : f32
    }
    return %2 : tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-gate-up" {{.*}} applied false because "the weights have different codebooks"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#table = #llm.encoding<"codebook4", group = 32, zero_points = false, scales = table>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @one_table
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<24x32xi4>, tensor<24x32xi4>) -> tensor<48x32xi4>
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<24x1xi8>, tensor<24x1xi8>) -> tensor<48x1xi8>
  // CHECK-NOT: llm.concat_rows
  // CHECK: llm.matmul {{.*}} super_scales(%{{.+}} : tensor<256xf32>)
  func.func @one_table(%x: tensor<?x32xf32, "T">) -> tensor<?x24xf32, "T"> {
    %gq = llm.weight "gq" from "f" at 0 : tensor<24x32xi4>
    %gs = llm.weight "gs" from "f" at 384 : tensor<24x1xi8>
    %uq = llm.weight "uq" from "f" at 512 : tensor<24x32xi4>
    %us = llm.weight "us" from "f" at 896 : tensor<24x1xi8>
    %b = llm.literal "book" dense<1.0> : tensor<16xf32> : tensor<16xf32>
    %gt = llm.literal "gate" dense<1.0> : tensor<256xf32> : tensor<256xf32>
    %ut = llm.literal "up" dense<1.0> : tensor<256xf32> : tensor<256xf32>
    %0 = llm.matmul %x, %gq scales(%gs : tensor<24x1xi8>) zeros(%b : tensor<16xf32>) super_scales(%gt : tensor<256xf32>) #table : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %1 = llm.matmul %x, %uq scales(%us : tensor<24x1xi8>) zeros(%b : tensor<16xf32>) super_scales(%ut : tensor<256xf32>) #table : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %2 = llm.pointwise %0, %1 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %c: f32):
      %3 = arith.mulf %a, %c : f32
      llm.yield %3 : f32
    }
    return %2 : tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-gate-up" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#table = #llm.encoding<"codebook4", group = 32, zero_points = false, scales = table>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @other_tables
  // CHECK-NOT: llm.concat_rows
  func.func @other_tables(%x: tensor<?x32xf32, "T">) -> tensor<?x24xf32, "T"> {
    %gq = llm.weight "gq" from "f" at 0 : tensor<24x32xi4>
    %gs = llm.weight "gs" from "f" at 384 : tensor<24x1xi8>
    %uq = llm.weight "uq" from "f" at 512 : tensor<24x32xi4>
    %us = llm.weight "us" from "f" at 896 : tensor<24x1xi8>
    %b = llm.literal "book" dense<1.0> : tensor<16xf32> : tensor<16xf32>
    %gt = llm.literal "gate" dense<1.0> : tensor<256xf32> : tensor<256xf32>
    %ut = llm.literal "up" dense<2.0> : tensor<256xf32> : tensor<256xf32>
    %0 = llm.matmul %x, %gq scales(%gs : tensor<24x1xi8>) zeros(%b : tensor<16xf32>) super_scales(%gt : tensor<256xf32>) #table : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %1 = llm.matmul %x, %uq scales(%us : tensor<24x1xi8>) zeros(%b : tensor<16xf32>) super_scales(%ut : tensor<256xf32>) #table : tensor<?x32xf32, "T">, tensor<24x32xi4> -> tensor<?x24xf32, "T">
    %2 = llm.pointwise %0, %1 : (tensor<?x24xf32, "T">, tensor<?x24xf32, "T">) -> tensor<?x24xf32, "T"> {
    ^bb0(%a: f32, %c: f32):
      %3 = arith.mulf %a, %c : f32
      llm.yield %3 : f32
    }
    return %2 : tensor<?x24xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-gate-up" {{.*}} applied false because "the weights have different tables of scales"
}
