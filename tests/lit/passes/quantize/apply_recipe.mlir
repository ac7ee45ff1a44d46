// RUN: %ingot_opt %s --split-input-file --ingot-apply-recipe | FileCheck %s

// Weight formats: a float type converts, an encoding quantizes and dequantizes, none keeps.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @formats
  // CHECK: %[[B:.+]] = llm.convert %{{.+}} : tensor<8x64xf32> to tensor<8x64xbf16>
  // CHECK: %[[F:.+]] = llm.convert %{{.+}} : tensor<8x64xbf16> to tensor<8x64xf32>
  // CHECK: %[[Q:.+]], %[[S:.+]], %[[Z:.+]] = llm.quantize %[[F]] <"int4", group = 32, zero_points = true> : (tensor<8x64xf32>) -> (tensor<8x64xi4>, tensor<8x2xbf16>, tensor<8x2xi8>)
  // CHECK: %[[D:.+]] = llm.dequantize %[[Q]], %[[S]], %[[Z]]
  // CHECK: %[[K:.+]] = llm.weight "kept"
  // CHECK: llm.matmul %arg0, %[[B]]
  // CHECK: llm.matmul %arg0, %[[D]]
  // CHECK: llm.matmul %arg0, %[[K]]
  func.func @formats(%x: tensor<?x64xf32, "T">) -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %a = llm.weight "a" from "f" at 0 {llm.format = bf16} : tensor<8x64xf32>
    %b = llm.weight "b" from "f" at 4096 {llm.format = #llm.encoding<"int4", group = 32, zero_points = true>} : tensor<8x64xbf16>
    %c = llm.weight "kept" from "f" at 8192 : tensor<8x64xf16>
    %0 = llm.matmul %x, %a : tensor<?x64xf32, "T">, tensor<8x64xf32> -> tensor<?x8xf32, "T">
    %1 = llm.matmul %x, %b : tensor<?x64xf32, "T">, tensor<8x64xbf16> -> tensor<?x8xf32, "T">
    %2 = llm.matmul %x, %c : tensor<?x64xf32, "T">, tensor<8x64xf16> -> tensor<?x8xf32, "T">
    return %0, %1, %2 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
}

// -----

// Where rows are put in order first, the ordered weight has the format: products and the passes
// behind this one find it there.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @ordered
  // CHECK: %[[P:.+]] = llm.permute_rows %{{.+}} digits [2, 2, 2] order [0, 2, 1] : tensor<8x64xf32>
  // CHECK: %[[Q:.+]], %[[S:.+]] = llm.quantize %[[P]]
  // CHECK: %[[D:.+]] = llm.dequantize %[[Q]], %[[S]]
  // CHECK: llm.matmul %arg0, %[[D]]
  func.func @ordered(%x: tensor<?x64xf32, "T">) -> tensor<?x8xf32, "T"> {
    %a = llm.weight "a" from "f" at 0 : tensor<8x64xf32>
    %p = llm.permute_rows %a digits [2, 2, 2] order [0, 2, 1] {llm.format = #llm.encoding<"int8", group = 0, zero_points = false>} : tensor<8x64xf32>
    %0 = llm.matmul %x, %p : tensor<?x64xf32, "T">, tensor<8x64xf32> -> tensor<?x8xf32, "T">
    return %0 : tensor<?x8xf32, "T">
  }
}

// -----

// Every stored activation is rounded; a product before its bias and the results are not. The KV
// cache takes the recipe's type.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86, llm.store = bf16, llm.kv = i8} {
  // CHECK-LABEL: @rounding
  // CHECK-SAME: !llm.kv<1 x 8 x i8, block = 16>
  // CHECK: %[[N:.+]] = llm.norm
  // CHECK: %[[R:.+]] = llm.round %[[N]]
  // CHECK: %[[M:.+]] = llm.matmul %[[R]], %{{.+}} : tensor<?x8xbf16, "T">
  // CHECK-NEXT: %[[P:.+]] = llm.pointwise %[[M]]
  // CHECK: %[[S:.+]] = llm.round %[[P]]
  // CHECK: %[[C:.+]] = llm.boundary %[[S]] ends "layers.0" : tensor<?x8xbf16, "T">
  // CHECK: %[[L:.+]] = llm.matmul %[[C]]
  // CHECK-NEXT: return %[[L]] : tensor<?x8xf32, "T">
  func.func @rounding(%x: tensor<?x8xf32, "T">, %kv: !llm.kv<1 x 8 x f32, block = 16>) -> tensor<?x8xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<8x8xf32>
    %b = llm.weight "b" from "f" at 256 : tensor<8xf32>
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    %1 = llm.matmul %0, %w : tensor<?x8xf32, "T">, tensor<8x8xf32> -> tensor<?x8xf32, "T">
    %2 = llm.pointwise %1, %b : (tensor<?x8xf32, "T">, tensor<8xf32>) -> tensor<?x8xf32, "T"> {
    ^bb0(%s: f32, %c: f32):
      %5 = arith.addf %s, %c : f32
      llm.yield %5 : f32
    }
    %3 = llm.boundary %2 ends "layers.0" : tensor<?x8xf32, "T">
    %4 = llm.matmul %3, %w : tensor<?x8xf32, "T">, tensor<8x8xf32> -> tensor<?x8xf32, "T">
    return %4 : tensor<?x8xf32, "T">
  }
}

// -----

// A slice hands on what it is given.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86, llm.store = bf16} {
  // CHECK-LABEL: @slices
  // CHECK: %[[R:.+]] = llm.round
  // CHECK: llm.slice_columns %[[R]] from 8 : tensor<?x16xbf16, "T"> -> tensor<?x8xbf16, "T">
  func.func @slices(%x: tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<16x8xf32>
    %v = llm.weight "v" from "f" at 512 : tensor<8x8xf32>
    %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<16x8xf32> -> tensor<?x16xf32, "T">
    %1 = llm.slice_columns %0 from 8 : tensor<?x16xf32, "T"> -> tensor<?x8xf32, "T">
    %2 = llm.matmul %1, %v : tensor<?x8xf32, "T">, tensor<8x8xf32> -> tensor<?x8xf32, "T">
    return %2 : tensor<?x8xf32, "T">
  }
  // Given rows are rounded where they are placed.
  // CHECK-LABEL: @places
  // CHECK: %[[R:.+]] = llm.round
  // CHECK: llm.place_rows %[[R]], %{{.+}} at %{{.+}} : tensor<?x16xbf16, "T">, tensor<?x16xf32, "E">
  func.func @places(%x: tensor<?x8xf32, "T">, %g: tensor<?x16xf32, "E">, %p: tensor<?xi32, "T">) -> tensor<?x8xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<16x8xf32>
    %v = llm.weight "v" from "f" at 512 : tensor<8x16xf32>
    %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<16x8xf32> -> tensor<?x16xf32, "T">
    %1 = llm.place_rows %0, %g at %p : tensor<?x16xf32, "T">, tensor<?x16xf32, "E">, tensor<?xi32, "T">
    %2 = llm.matmul %1, %v : tensor<?x16xf32, "T">, tensor<8x16xf32> -> tensor<?x8xf32, "T">
    return %2 : tensor<?x8xf32, "T">
  }
}

// -----

// A stack of weights in one encoding is encoded as a whole; one scale for a weight becomes one for
// each of its rows.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @stack
  // CHECK: %[[A:.+]], %[[SA:.+]] = llm.quantize %{{.+}} <"fp8", group = -1, zero_points = false>
  // CHECK: %[[B:.+]], %[[SB:.+]] = llm.quantize %{{.+}} <"fp8", group = -1, zero_points = false>
  // CHECK: %[[RA:.+]] = llm.repeat_rows %[[SA]] count 8 : tensor<1x1xf32> -> tensor<8x1xf32>
  // CHECK: %[[RB:.+]] = llm.repeat_rows %[[SB]] count 8
  // CHECK: %[[V:.+]] = llm.concat_rows %[[A]], %[[B]] : (tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>) -> tensor<16x64xf8E4M3FN>
  // CHECK: %[[S:.+]] = llm.concat_rows %[[RA]], %[[RB]]
  // CHECK: %[[D:.+]] = llm.dequantize %[[V]], %[[S]] <"fp8", group = 0, zero_points = false>
  // CHECK: llm.matmul %arg0, %[[D]] groups
  // Plain ones keep their type, or have f32 where they differ.
  // CHECK: %[[H:.+]] = llm.concat_rows %{{.+}}, %{{.+}} : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<16x64xbf16>
  // CHECK: llm.matmul %arg0, %[[H]] groups
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  // Two encodings do not become one.
  // CHECK: llm.dequantize
  // CHECK: llm.dequantize
  // CHECK: llm.concat_rows %{{.+}}, %{{.+}} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  func.func @stack(%x: tensor<?x64xf32, "T">, %o: tensor<?xi32, "T">, %s: tensor<3xi32>) -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
    %a = llm.weight "a" from "f" at 0 {llm.format = #llm.encoding<"fp8", group = -1, zero_points = false>} : tensor<8x64xf32>
    %b = llm.weight "b" from "f" at 4096 {llm.format = #llm.encoding<"fp8", group = -1, zero_points = false>} : tensor<8x64xf32>
    %w = llm.concat_rows %a, %b : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %0 = llm.matmul %x, %w groups(%o, %s : tensor<?xi32, "T">, tensor<3xi32>) : tensor<?x64xf32, "T">, tensor<16x64xf32> -> tensor<?x8xf32, "T">
    %c = llm.weight "c" from "f" at 8192 {llm.format = bf16} : tensor<8x64xf32>
    %d = llm.weight "d" from "f" at 16384 {llm.format = bf16} : tensor<8x64xf32>
    %v = llm.concat_rows %c, %d : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %1 = llm.matmul %x, %v groups(%o, %s : tensor<?xi32, "T">, tensor<3xi32>) : tensor<?x64xf32, "T">, tensor<16x64xf32> -> tensor<?x8xf32, "T">
    %e = llm.weight "e" from "f" at 32768 {llm.format = bf16} : tensor<8x64xf32>
    %f = llm.weight "f" from "f" at 65536 : tensor<8x64xf32>
    %u = llm.concat_rows %e, %f : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %2 = llm.matmul %x, %u groups(%o, %s : tensor<?xi32, "T">, tensor<3xi32>) : tensor<?x64xf32, "T">, tensor<16x64xf32> -> tensor<?x8xf32, "T">
    %g = llm.weight "g" from "f" at 131072 {llm.format = #llm.encoding<"int8", group = 0, zero_points = false>} : tensor<8x64xf32>
    %h = llm.weight "h" from "f" at 262144 {llm.format = #llm.encoding<"int4", group = 32, zero_points = false>} : tensor<8x64xf32>
    %t = llm.concat_rows %g, %h : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %3 = llm.matmul %x, %t groups(%o, %s : tensor<?xi32, "T">, tensor<3xi32>) : tensor<?x64xf32, "T">, tensor<16x64xf32> -> tensor<?x8xf32, "T">
    return %0, %1, %2, %3 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
  }
}

// -----

// Stacked experts whose tables of scales differ have their scales themselves.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @stack_of_tables
  // CHECK: llm.dequantize %{{.+}}, %{{.+}}, %{{.+}} <"codebook8", group = -1, zero_points = false> : (tensor<8x2xi8>
  // CHECK: llm.dequantize %{{.+}}, %{{.+}}, %{{.+}} <"codebook8", group = -1, zero_points = false> : (tensor<8x2xi8>
  // CHECK: %[[S:.+]] = llm.concat_rows %{{.+}}, %{{.+}} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<16x2xf32>
  // CHECK: llm.dequantize %{{.+}}, %[[S]], %{{.+}} <"codebook4", group = 32, zero_points = false> :
  func.func @stack_of_tables(%x: tensor<?x64xf32, "T">, %o: tensor<?xi32, "T">, %n: tensor<3xi32>) -> tensor<?x8xf32, "T"> {
    %aq = llm.weight "aq" from "f" at 0 : tensor<8x64xi4>
    %as = llm.weight "as" from "f" at 256 : tensor<8x2xi8>
    %bq = llm.weight "bq" from "f" at 512 : tensor<8x64xi4>
    %bs = llm.weight "bs" from "f" at 768 : tensor<8x2xi8>
    %k = llm.literal "book" dense<1.0> : tensor<16xf32> : tensor<16xf32>
    %at = llm.literal "a" dense<1.0> : tensor<256xf32> : tensor<256xf32>
    %bt = llm.literal "b" dense<2.0> : tensor<256xf32> : tensor<256xf32>
    %a = llm.dequantize %aq, %as, %k, %at <"codebook4", group = 32, zero_points = false, scales = table> : (tensor<8x64xi4>, tensor<8x2xi8>, tensor<16xf32>, tensor<256xf32>) -> tensor<8x64xf32>
    %b = llm.dequantize %bq, %bs, %k, %bt <"codebook4", group = 32, zero_points = false, scales = table> : (tensor<8x64xi4>, tensor<8x2xi8>, tensor<16xf32>, tensor<256xf32>) -> tensor<8x64xf32>
    %w = llm.concat_rows %a, %b : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %0 = llm.matmul %x, %w groups(%o, %n : tensor<?xi32, "T">, tensor<3xi32>) : tensor<?x64xf32, "T">, tensor<16x64xf32> -> tensor<?x8xf32, "T">
    return %0 : tensor<?x8xf32, "T">
  }
}

// -----

// The checkpoint's scales of keys and values become an operand of what appends them.
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86, llm.kv = f8E4M3FN} {
  // CHECK-LABEL: @kv_scales
  // CHECK: %[[K:.+]] = llm.literal "{{.+}}.kv_scales" dense<[2.500000e-01, 5.000000e-01]> : tensor<2xf32>
  // CHECK: llm.kv_append {{.*}} into %{{.+}} static(%[[K]] : tensor<2xf32>) :
  // CHECK-NOT: llm.static_scales
  func.func @kv_scales(%k: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %kv: !llm.kv<1 x 8 x f32, block = 16>) {
    llm.kv_append %k, %k at %p, %t, %b into %kv {llm.static_scales = array<f32: 0.25, 0.5>} : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16>
    return
  }
}
