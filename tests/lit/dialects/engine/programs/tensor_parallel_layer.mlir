// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// One layer at Llama-3-70B shapes on two GPUs: each rank holds 32 of 64 query heads and half of
// the MLP; the partial sums of both projections meet in an all-reduce over the pair.

// CHECK: engine.unit @sm_90a.rank0
// CHECK: engine.collective "layers.0.o.sum" "all_reduce" bf16 @partial to @sum
// CHECK: engine.unit @sm_90a.rank1 {{.*}} rank 1 of 2

engine.dim @T "step" 1 to 2048
engine.dim @S "step" 1 to 256
engine.dim @B "load" 1 to 512

engine.weight @layers.0.qkv.rank0 tensor<5120x8192xbf16>
engine.weight @layers.0.o.rank0 tensor<8192x4096xbf16>
engine.weight @layers.0.gate_up.rank0 tensor<28672x8192xbf16>
engine.weight @layers.0.down.rank0 tensor<8192x14336xbf16>
engine.weight @layers.0.qkv.rank1 tensor<5120x8192xbf16>
engine.weight @layers.0.o.rank1 tensor<8192x4096xbf16>
engine.weight @layers.0.gate_up.rank1 tensor<28672x8192xbf16>
engine.weight @layers.0.down.rank1 tensor<8192x14336xbf16>
engine.weight @rope.inv_freq tensor<64xf32>

engine.unit @sm_90a.rank0 <"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
    rank 0 of 2 attributes {minimum_driver = "550.54", toolkit = "12.4"} {
  engine.rank_group @tensor [0, 1]
  engine.kv_group @global "global" block 16

  engine.buffer @positions "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @token_sequences "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @block_table "input" i32 [#engine.expr<"S">, #engine.expr<"B">]
      bytes <"S * B * 4"> group @global
  engine.buffer @hidden "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384"> tap "layers.0"
  engine.buffer @normed "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384">
  engine.buffer @qkv "arena" bf16 [#engine.expr<"T">, #engine.expr<"5120">]
      bytes <"T * 10240">
  engine.buffer @query "arena" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192">
  engine.buffer @context "arena" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192">
  engine.buffer @partial "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384">
  engine.buffer @sum "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384">
  engine.buffer @activated "arena" bf16 [#engine.expr<"T">, #engine.expr<"14336">]
      bytes <"T * 28672">
  engine.buffer @layers.0.kv "kv" bf16 [
      #engine.expr<"2">, #engine.expr<"4">, #engine.expr<"16">, #engine.expr<"128">]
      bytes <"32768"> group @global
  engine.buffer @layers.0.qkv.rank0 "weight" bf16 [#engine.expr<"5120">, #engine.expr<"8192">]
      bytes <"83886080"> weight @layers.0.qkv.rank0
  engine.buffer @layers.0.o.rank0 "weight" bf16 [#engine.expr<"8192">, #engine.expr<"4096">]
      bytes <"67108864"> weight @layers.0.o.rank0
  engine.buffer @layers.0.gate_up.rank0 "weight" bf16 [#engine.expr<"28672">, #engine.expr<"8192">]
      bytes <"469762048"> weight @layers.0.gate_up.rank0
  engine.buffer @layers.0.down.rank0 "weight" bf16 [#engine.expr<"8192">, #engine.expr<"14336">]
      bytes <"234881024"> weight @layers.0.down.rank0
  engine.buffer @rope.inv_freq "weight" f32 [#engine.expr<"64">]
      bytes <"256"> weight @rope.inv_freq

  engine.library @kernels "cubin"
  engine.kernel @rms_norm_8192 from "rms_norm"
      constants {columns = 8192 : i64, eps = 9.99999974E-6 : f32}
      block [256, 1, 1] library @kernels
  engine.kernel @add_rms_norm_8192 from "add_rms_norm"
      constants {columns = 8192 : i64, eps = 9.99999974E-6 : f32}
      block [256, 1, 1] library @kernels
  engine.kernel @matmul_qkv from "wgmma_bf16"
      constants {k = 8192 : i64, n = 5120 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels facts {registers = "168"}
  engine.kernel @matmul_o from "wgmma_bf16"
      constants {k = 4096 : i64, n = 8192 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels
  engine.kernel @matmul_gate_up from "wgmma_bf16"
      constants {k = 8192 : i64, n = 28672 : i64, pair = 64 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels epilogue {
    ^bb0(%gate: f32, %up: f32):
      %0 = arith.negf %gate : f32
      %1 = math.exp %0 : f32
      %cst = arith.constant 1.000000e+00 : f32
      %2 = arith.addf %1, %cst : f32
      %3 = arith.divf %gate, %2 : f32
      %4 = arith.mulf %3, %up : f32
      engine.yield %4 : f32
  }
  engine.kernel @matmul_down from "wgmma_bf16"
      constants {k = 14336 : i64, n = 8192 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels
  engine.kernel @rope_append_4x128 from "rope_append"
      constants {block = 16 : i64, head = 128 : i64, kv_heads = 4 : i64, query_heads = 32 : i64}
      block [128, 1, 1] library @kernels
  engine.kernel @attention_32x128 from "paged_attention"
      constants {block = 16 : i64, group = 8 : i64, head = 128 : i64}
      shared 98304 block [128, 1, 1] library @kernels

  engine.arena_tier [#engine.range<"T", 1, 2048>, #engine.range<"S", 1, 256>]
      bytes 248004608
      offsets [0, 8192, 16384, 540672, 34095104, 67649536, 88621056, 105398272, 122175488,
               155729920, 189284352]

  engine.program @step dims [@T, @S, @B]
      inputs [@positions, @token_sequences, @block_table, @hidden]
      outputs [@hidden] {
    engine.launch "rms_norm layers.0.attention_norm"
        [#engine.variant<@rms_norm_8192 grid [<"T">]>]
        args [@hidden, @normed]
    engine.launch "matmul layers.0.qkv"
        [#engine.variant<@matmul_qkv grid [<"T ceildiv 128">, <"40">]>]
        args [@normed, @layers.0.qkv.rank0, @qkv, #engine.expr<"T">]
    engine.launch "rope_append layers.0"
        [#engine.variant<@rope_append_4x128 grid [<"T">]>]
        args [@qkv, @positions, @rope.inv_freq, @token_sequences, @block_table, @layers.0.kv,
              @query, #engine.expr<"T">, #engine.expr<"B">]
    engine.launch "attention layers.0"
        [#engine.variant<@attention_32x128 grid [<"T">, <"4">]>]
        args [@query, @positions, @token_sequences, @block_table, @layers.0.kv, @context,
              #engine.expr<"T">, #engine.expr<"B">, 8.838835e-02 : f64]
    engine.launch "matmul layers.0.o"
        [#engine.variant<@matmul_o grid [<"T ceildiv 128">, <"64">]>]
        args [@context, @layers.0.o.rank0, @partial, #engine.expr<"T">]
    engine.collective "layers.0.o.sum" "all_reduce" bf16 @partial to @sum
        count <"T * 8192"> over @tensor
    engine.launch "add_rms_norm layers.0.mlp_norm"
        [#engine.variant<@add_rms_norm_8192 grid [<"T">]>]
        args [@sum, @hidden, @normed]
    engine.launch "matmul layers.0.gate_up"
        [#engine.variant<@matmul_gate_up grid [<"T ceildiv 128">, <"224">]>]
        args [@normed, @layers.0.gate_up.rank0, @activated, #engine.expr<"T">]
    engine.launch "matmul layers.0.down"
        [#engine.variant<@matmul_down grid [<"T ceildiv 128">, <"64">]>]
        args [@activated, @layers.0.down.rank0, @partial, #engine.expr<"T">]
    engine.collective "layers.0.down.sum" "all_reduce" bf16 @partial to @sum
        count <"T * 8192"> over @tensor
    engine.copy "layers.0.hidden" <@sum at <"0">> to <@hidden at <"0">> bytes <"T * 16384">
    engine.segment "layers.0" tap @hidden
  }
  engine.coverage @step 1 over [#engine.range<"T", 1, 2048>]
      by [@matmul_qkv]
  engine.note "ingot-fuse-swiglu" "layers.0.gate_up" applied true
}

engine.unit @sm_90a.rank1 <"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
    rank 1 of 2 attributes {minimum_driver = "550.54", toolkit = "12.4"} {
  engine.rank_group @tensor [0, 1]
  engine.kv_group @global "global" block 16

  engine.buffer @positions "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @token_sequences "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @block_table "input" i32 [#engine.expr<"S">, #engine.expr<"B">]
      bytes <"S * B * 4"> group @global
  engine.buffer @hidden "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384"> tap "layers.0"
  engine.buffer @normed "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384">
  engine.buffer @qkv "arena" bf16 [#engine.expr<"T">, #engine.expr<"5120">]
      bytes <"T * 10240">
  engine.buffer @query "arena" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192">
  engine.buffer @context "arena" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192">
  engine.buffer @partial "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384">
  engine.buffer @sum "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">]
      bytes <"T * 16384">
  engine.buffer @activated "arena" bf16 [#engine.expr<"T">, #engine.expr<"14336">]
      bytes <"T * 28672">
  engine.buffer @layers.0.kv "kv" bf16 [
      #engine.expr<"2">, #engine.expr<"4">, #engine.expr<"16">, #engine.expr<"128">]
      bytes <"32768"> group @global
  engine.buffer @layers.0.qkv.rank1 "weight" bf16 [#engine.expr<"5120">, #engine.expr<"8192">]
      bytes <"83886080"> weight @layers.0.qkv.rank1
  engine.buffer @layers.0.o.rank1 "weight" bf16 [#engine.expr<"8192">, #engine.expr<"4096">]
      bytes <"67108864"> weight @layers.0.o.rank1
  engine.buffer @layers.0.gate_up.rank1 "weight" bf16 [#engine.expr<"28672">, #engine.expr<"8192">]
      bytes <"469762048"> weight @layers.0.gate_up.rank1
  engine.buffer @layers.0.down.rank1 "weight" bf16 [#engine.expr<"8192">, #engine.expr<"14336">]
      bytes <"234881024"> weight @layers.0.down.rank1
  engine.buffer @rope.inv_freq "weight" f32 [#engine.expr<"64">]
      bytes <"256"> weight @rope.inv_freq

  engine.library @kernels "cubin"
  engine.kernel @rms_norm_8192 from "rms_norm"
      constants {columns = 8192 : i64, eps = 9.99999974E-6 : f32}
      block [256, 1, 1] library @kernels
  engine.kernel @add_rms_norm_8192 from "add_rms_norm"
      constants {columns = 8192 : i64, eps = 9.99999974E-6 : f32}
      block [256, 1, 1] library @kernels
  engine.kernel @matmul_qkv from "wgmma_bf16"
      constants {k = 8192 : i64, n = 5120 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels facts {registers = "168"}
  engine.kernel @matmul_o from "wgmma_bf16"
      constants {k = 4096 : i64, n = 8192 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels
  engine.kernel @matmul_gate_up from "wgmma_bf16"
      constants {k = 8192 : i64, n = 28672 : i64, pair = 64 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels epilogue {
    ^bb0(%gate: f32, %up: f32):
      %0 = arith.negf %gate : f32
      %1 = math.exp %0 : f32
      %cst = arith.constant 1.000000e+00 : f32
      %2 = arith.addf %1, %cst : f32
      %3 = arith.divf %gate, %2 : f32
      %4 = arith.mulf %3, %up : f32
      engine.yield %4 : f32
  }
  engine.kernel @matmul_down from "wgmma_bf16"
      constants {k = 14336 : i64, n = 8192 : i64}
      guards [#engine.range<"T", 1, 2048>] shared 196608 block [384, 1, 1] cluster [1, 2, 1]
      library @kernels
  engine.kernel @rope_append_4x128 from "rope_append"
      constants {block = 16 : i64, head = 128 : i64, kv_heads = 4 : i64, query_heads = 32 : i64}
      block [128, 1, 1] library @kernels
  engine.kernel @attention_32x128 from "paged_attention"
      constants {block = 16 : i64, group = 8 : i64, head = 128 : i64}
      shared 98304 block [128, 1, 1] library @kernels

  engine.arena_tier [#engine.range<"T", 1, 2048>, #engine.range<"S", 1, 256>]
      bytes 248004608
      offsets [0, 8192, 16384, 540672, 34095104, 67649536, 88621056, 105398272, 122175488,
               155729920, 189284352]

  engine.program @step dims [@T, @S, @B]
      inputs [@positions, @token_sequences, @block_table, @hidden]
      outputs [@hidden] {
    engine.launch "rms_norm layers.0.attention_norm"
        [#engine.variant<@rms_norm_8192 grid [<"T">]>]
        args [@hidden, @normed]
    engine.launch "matmul layers.0.qkv"
        [#engine.variant<@matmul_qkv grid [<"T ceildiv 128">, <"40">]>]
        args [@normed, @layers.0.qkv.rank1, @qkv, #engine.expr<"T">]
    engine.launch "rope_append layers.0"
        [#engine.variant<@rope_append_4x128 grid [<"T">]>]
        args [@qkv, @positions, @rope.inv_freq, @token_sequences, @block_table, @layers.0.kv,
              @query, #engine.expr<"T">, #engine.expr<"B">]
    engine.launch "attention layers.0"
        [#engine.variant<@attention_32x128 grid [<"T">, <"4">]>]
        args [@query, @positions, @token_sequences, @block_table, @layers.0.kv, @context,
              #engine.expr<"T">, #engine.expr<"B">, 8.838835e-02 : f64]
    engine.launch "matmul layers.0.o"
        [#engine.variant<@matmul_o grid [<"T ceildiv 128">, <"64">]>]
        args [@context, @layers.0.o.rank1, @partial, #engine.expr<"T">]
    engine.collective "layers.0.o.sum" "all_reduce" bf16 @partial to @sum
        count <"T * 8192"> over @tensor
    engine.launch "add_rms_norm layers.0.mlp_norm"
        [#engine.variant<@add_rms_norm_8192 grid [<"T">]>]
        args [@sum, @hidden, @normed]
    engine.launch "matmul layers.0.gate_up"
        [#engine.variant<@matmul_gate_up grid [<"T ceildiv 128">, <"224">]>]
        args [@normed, @layers.0.gate_up.rank1, @activated, #engine.expr<"T">]
    engine.launch "matmul layers.0.down"
        [#engine.variant<@matmul_down grid [<"T ceildiv 128">, <"64">]>]
        args [@activated, @layers.0.down.rank1, @partial, #engine.expr<"T">]
    engine.collective "layers.0.down.sum" "all_reduce" bf16 @partial to @sum
        count <"T * 8192"> over @tensor
    engine.copy "layers.0.hidden" <@sum at <"0">> to <@hidden at <"0">> bytes <"T * 16384">
    engine.segment "layers.0" tap @hidden
  }
  engine.coverage @step 1 over [#engine.range<"T", 1, 2048>]
      by [@matmul_qkv]
  engine.note "ingot-fuse-swiglu" "layers.0.gate_up" applied true
}
