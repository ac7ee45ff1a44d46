// RUN: %ingot_opt %s --split-input-file --ingot-merge-qkv | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @attention
  // CHECK: %[[W:.+]] = llm.concat_rows %{{.+}}, %{{.+}}, %{{.+}} : (tensor<16x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<32x16xbf16>
  // CHECK: %[[QKV:.+]] = llm.matmul %arg0, %[[W]]
  // CHECK: llm.slice_columns %[[QKV]] from 0
  // CHECK: llm.slice_columns %[[QKV]] from 16
  // CHECK: llm.slice_columns %[[QKV]] from 24
  // CHECK-NOT: llm.matmul
  func.func @attention(%x: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                       %b: tensor<?x?xi32, "S">, %kv: !llm.kv<1 x 8 x f32, block = 16>) -> tensor<?x16xf32, "T"> {
    %wq = llm.weight "q" from "f" at 0 : tensor<16x16xbf16>
    %wk = llm.weight "k" from "f" at 512 : tensor<8x16xbf16>
    %wv = llm.weight "v" from "f" at 768 : tensor<8x16xbf16>
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.matmul %x, %wq : tensor<?x16xf32, "T">, tensor<16x16xbf16> -> tensor<?x16xf32, "T">
    %k = llm.matmul %x, %wk : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %v = llm.matmul %x, %wv : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %qr = llm.rope %q, %p, %f head_dim 8 factor 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %k, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16>
    %0 = llm.attention %qr at %p, %t, %b over %kv scale 0.35 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16> -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-qkv" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @formats_differ
  // CHECK-NOT: llm.concat_rows
  func.func @formats_differ(%x: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                            %b: tensor<?x?xi32, "S">, %kv: !llm.kv<1 x 8 x f32, block = 16>) -> tensor<?x16xf32, "T"> {
    %wq = llm.weight "q" from "f" at 0 : tensor<16x16xbf16>
    %wk = llm.weight "k" from "f" at 512 : tensor<8x16xf32>
    %wv = llm.weight "v" from "f" at 1024 : tensor<8x16xbf16>
    %q = llm.matmul %x, %wq : tensor<?x16xf32, "T">, tensor<16x16xbf16> -> tensor<?x16xf32, "T">
    %k = llm.matmul %x, %wk : tensor<?x16xf32, "T">, tensor<8x16xf32> -> tensor<?x8xf32, "T">
    %v = llm.matmul %x, %wv : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    llm.kv_append %k, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16>
    %0 = llm.attention %q at %p, %t, %b over %kv scale 0.35 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16> -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-qkv" {{.*}} applied false because "the weights have different formats"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @normed
  // CHECK-NOT: llm.concat_rows
  func.func @normed(%x: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                    %b: tensor<?x?xi32, "S">, %kv: !llm.kv<1 x 8 x f32, block = 16>) -> tensor<?x16xf32, "T"> {
    %wq = llm.weight "q" from "f" at 0 : tensor<16x16xbf16>
    %wk = llm.weight "k" from "f" at 512 : tensor<8x16xbf16>
    %wv = llm.weight "v" from "f" at 768 : tensor<8x16xbf16>
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.matmul %x, %wq : tensor<?x16xf32, "T">, tensor<16x16xbf16> -> tensor<?x16xf32, "T">
    %k = llm.matmul %x, %wk : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %v = llm.matmul %x, %wv : tensor<?x16xf32, "T">, tensor<8x16xbf16> -> tensor<?x8xf32, "T">
    %qn = llm.norm %q eps 1.0e-6 head_dim 8 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %kn = llm.norm %k eps 1.0e-6 head_dim 8 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %qn, %p, %f head_dim 8 factor 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %kn, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16>
    %0 = llm.attention %qr at %p, %t, %b over %kv scale 0.35 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 16> -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-merge-qkv" {{.*}} applied false because "q or k is normed before it rotates"
}
