// RUN: %ingot_opt %s | %ingot_opt | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK-SAME: !llm.kv<2 x 8 x bf16, block = 16>
// CHECK-SAME: !llm.kv<2 x 8 x f8E4M3FN, block = 4, window = 16>
func.func @attention(%q: tensor<?x32xf32, "T">, %k: tensor<?x16xf32, "T">,
    %qkv: tensor<?x64xf32, "T">, %positions: tensor<?xi32, "T">, %sequences: tensor<?xi32, "T">,
    %table: tensor<?x?xi32, "S">, %frequencies: tensor<4xf32>, %fewer: tensor<3xf32>,
    %cache: !llm.kv<2 x 8 x bf16, block = 16>, %small: !llm.kv<2 x 8 x f8E5M2, block = 4>,
    %sinks: tensor<4xbf16>, %codes: !llm.kv<2 x 8 x f8E4M3FN, block = 4, window = 16>, %static: tensor<2xf32>,
    %axes: tensor<?xi32, "T * 3">) {
  // CHECK: llm.rope %{{.*}}, %{{.*}}, %{{.*}} head_dim 8 factor 1.000000e+00 : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x32xf32, "T">
  %0 = llm.rope %q, %positions, %frequencies head_dim 8 factor 1.0
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x32xf32, "T">
  // CHECK: llm.rope {{.*}} tensor<3xf32> -> tensor<?x32xf32, "T">
  %3 = llm.rope %q, %positions, %fewer head_dim 8 factor 1.0
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<3xf32> -> tensor<?x32xf32, "T">
  // CHECK: llm.rope {{.*}} head_dim 8 factor 1.000000e+00 axes [0, 1, 2, 0] : {{.*}}, tensor<?xi32, "T * 3">, tensor<4xf32> ->
  %a = llm.rope %q, %axes, %frequencies head_dim 8 factor 1.0 axes [0, 1, 2, 0]
      : tensor<?x32xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x32xf32, "T">
  // CHECK: llm.rope_append {{.*}} static(%{{.*}} : tensor<2xf32>) rotary(%{{.*}} : tensor<?xi32, "T * 3">) factor 1.000000e+00 axes [0, 0, 1, 2] :
  %b = llm.rope_append %qkv at %positions, %frequencies, %sequences, %table into %codes
      static(%static : tensor<2xf32>) rotary(%axes : tensor<?xi32, "T * 3">) factor 1.0 axes [0, 0, 1, 2]
      : tensor<?x64xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<2 x 8 x f8E4M3FN, block = 4, window = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.kv_append %{{.*}}, %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} : {{.*}}<2 x 8 x f8E5M2, block = 4>
  llm.kv_append %k, %k at %positions, %sequences, %table into %small
      : tensor<?x16xf32, "T">, tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<2 x 8 x f8E5M2, block = 4>
  // CHECK: llm.kv_append {{.*}} into %{{.*}} static(%{{.*}} : tensor<2xf32>) : {{.*}}<2 x 8 x f8E4M3FN, block = 4, window = 16>
  llm.kv_append %k, %k at %positions, %sequences, %table into %codes static(%static : tensor<2xf32>)
      : tensor<?x16xf32, "T">, tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<2 x 8 x f8E4M3FN, block = 4, window = 16>
  // CHECK: llm.rope_append {{.*}} into %{{.*}} static(%{{.*}} : tensor<2xf32>) factor 1.000000e+00 : {{.*}}<2 x 8 x f8E4M3FN, block = 4, window = 16> -> tensor<?x32xf32, "T">
  %4 = llm.rope_append %qkv at %positions, %frequencies, %sequences, %table into %codes
      static(%static : tensor<2xf32>) factor 1.0
      : tensor<?x64xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<2 x 8 x f8E4M3FN, block = 4, window = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.rope_append %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} factor 1.250000e+00 : {{.*}} -> tensor<?x32xf32, "T">
  %1 = llm.rope_append %qkv at %positions, %frequencies, %sequences, %table into %cache factor 1.25
      : tensor<?x64xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<2 x 8 x bf16, block = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.attention %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} over %{{.*}} scale 5.000000e-01 : {{.*}} -> tensor<?x32xf32, "T">
  %2 = llm.attention %1 at %positions, %sequences, %table over %cache scale 0.5
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<2 x 8 x bf16, block = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.attention %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} over %{{.*}} scale 5.000000e-01 window 16 softcap 5.000000e+01 : {{.*}} -> tensor<?x32xf32, "T">
  %w = llm.attention %1 at %positions, %sequences, %table over %cache scale 0.5 window 16 softcap 50.0
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<2 x 8 x bf16, block = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.attention %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} over %{{.*}} scale 5.000000e-01 window 16 chunked : {{.*}} -> tensor<?x32xf32, "T">
  %o = llm.attention %1 at %positions, %sequences, %table over %cache scale 0.5 window 16 chunked
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<2 x 8 x bf16, block = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.attention %{{.*}} over %{{.*}} reaches(%{{.*}} : tensor<?xi32, "T">) scale 5.000000e-01 window 16 : {{.*}} -> tensor<?x32xf32, "T">
  %r = llm.attention %1 at %positions, %sequences, %table over %cache reaches(%positions : tensor<?xi32, "T">)
      scale 0.5 window 16
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<2 x 8 x bf16, block = 16> -> tensor<?x32xf32, "T">
  // CHECK: llm.attention %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} over %{{.*}} sinks(%{{.*}} : tensor<4xbf16>) scale 5.000000e-01 window 16 fp8 : {{.*}} -> tensor<?x32xf32, "T">
  %s = llm.attention %1 at %positions, %sequences, %table over %codes sinks(%sinks : tensor<4xbf16>)
      scale 0.5 window 16 fp8
      : tensor<?x32xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<2 x 8 x f8E4M3FN, block = 4, window = 16> -> tensor<?x32xf32, "T">
  return
}

// CHECK-LABEL: func.func @sample
func.func @sample(%logits: tensor<?x64xf32, "L">, %params: tensor<?x16xi32, "L">,
    %ids: tensor<?x304xi32, "L">, %values: tensor<?x304xf32, "L">, %mask: tensor<?x2xi32, "L">,
    %counts: !llm.state<tensor<64xi32>>) {
  // CHECK: llm.sample {{.*}} : ({{.*}}, !llm.state<tensor<64xi32>>) -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x20xi32, "L">, tensor<?x20xf32, "L">)
  %0:4 = llm.sample %logits, %params, %ids, %values, %mask, %counts
      : (tensor<?x64xf32, "L">, tensor<?x16xi32, "L">, tensor<?x304xi32, "L">,
         tensor<?x304xf32, "L">, tensor<?x2xi32, "L">, !llm.state<tensor<64xi32>>)
      -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x20xi32, "L">, tensor<?x20xf32, "L">)
  return
}

// Values of another width than keys, and those of a latent cache, which are in its keys.
// CHECK-LABEL: func.func @widths
// CHECK-SAME: !llm.kv<2 x 8 x bf16, block = 4, window = 16, values = 4>
// CHECK-SAME: !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent>
func.func @widths(%q: tensor<?x48xf32, "T">, %k: tensor<?x16xf32, "T">, %v: tensor<?x8xf32, "T">,
    %r: tensor<?x4xf32, "T">, %positions: tensor<?xi32, "T">, %sequences: tensor<?xi32, "T">,
    %table: tensor<?x?xi32, "S">, %cache: !llm.kv<2 x 8 x bf16, block = 4, window = 16, values = 4>,
    %latent: !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent>)
    -> (tensor<?x24xf32, "T">, tensor<?x32xf32, "T">) {
  llm.kv_append %k, %v at %positions, %sequences, %table into %cache
      : tensor<?x16xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<2 x 8 x bf16, block = 4, values = 4, window = 16>
  // CHECK: llm.latent_append %{{.*}}, %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} : tensor<?x8xf32, "T">, tensor<?x4xf32, "T">, {{.*}}<1 x 12 x bf16, block = 4, values = 8, latent>
  llm.latent_append %v, %r at %positions, %sequences, %table into %latent
      : tensor<?x8xf32, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
        tensor<?x?xi32, "S">, !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent>
  %0 = llm.attention %q at %positions, %sequences, %table over %cache scale 0.5 window 16
      : tensor<?x48xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<2 x 8 x bf16, block = 4, window = 16, values = 4> -> tensor<?x24xf32, "T">
  %1 = llm.attention %q at %positions, %sequences, %table over %latent scale 0.5
      : tensor<?x48xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent> -> tensor<?x32xf32, "T">
  // CHECK: llm.attention {{.*}} over %{{.*}} rotary(%{{.*}} : tensor<?x4xf32, "T">) scale 5.000000e-01 : tensor<?x8xf32, "T">
  %2 = llm.attention %v at %positions, %sequences, %table over %latent
      rotary(%r : tensor<?x4xf32, "T">) scale 0.5
      : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent> -> tensor<?x8xf32, "T">
  // CHECK: %[[S:.+]] = llm.select_positions %{{.*}}, %{{.*}} at {{.*}} over %{{.*}} scale 2.500000e-01 : {{.*}} -> tensor<?x5xi32, "T">
  %3 = llm.select_positions %q, %r at %positions, %sequences, %table over %latent scale 0.25
      : tensor<?x48xf32, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent> -> tensor<?x5xi32, "T">
  // CHECK: llm.attention {{.*}} selected(%[[S]] : tensor<?x5xi32, "T">) scale
  %4 = llm.attention %q at %positions, %sequences, %table over %latent
      selected(%3 : tensor<?x5xi32, "T">) scale 0.5
      : tensor<?x48xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
        !llm.kv<1 x 12 x bf16, block = 4, values = 8, latent> -> tensor<?x32xf32, "T">
  return %0, %1 : tensor<?x24xf32, "T">, tensor<?x32xf32, "T">
}

// Rows of any dim, over all rows of their sequences.
// CHECK-LABEL: func.func @encoder
func.func @encoder(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">,
    %v: tensor<?x10xf32, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">)
    -> (tensor<?x20xf32, "P">, tensor<?x20xf32, "P">) {
  // CHECK: llm.encoder_attention %{{.*}}, %{{.*}}, %{{.*}} of %{{.*}}, %{{.*}} kv_heads 2 scale 1.250000e-01 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xf32, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xf32, "P">
  %0 = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125
      : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xf32, "P">, tensor<?xi32, "P">,
        tensor<?xi32, "Q + 1"> -> tensor<?x20xf32, "P">
  // CHECK: llm.encoder_attention {{.*}} scale 1.250000e-01 sums <columns x 1, segment = 256> : {{.*}}
  %1 = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125
      sums <columns x 1, segment = 256>
      : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xf32, "P">, tensor<?xi32, "P">,
        tensor<?xi32, "Q + 1"> -> tensor<?x20xf32, "P">
  return %0, %1 : tensor<?x20xf32, "P">, tensor<?x20xf32, "P">
}
