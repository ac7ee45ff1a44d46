// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// Two layers of a model of Gemma-3-4B shapes: layer 4 attends to the last 1024 positions, layer 5
// to all. Each KV group has blocks, block tables and a table width of its own.

// CHECK: engine.kv_group @local "sliding" block 16 window 1024
// CHECK: engine.kv_group @global "global" block 16
// CHECK: engine.launch "attention layers.4"
// CHECK: @block_table.local

engine.dim @T "step" 1 to 512
engine.dim @S "step" 1 to 64
engine.dim @B.local "load" 1 to 66
engine.dim @B.global "load" 1 to 8192

engine.weight @layers.4.qkv tensor<4096x2560xbf16>
engine.weight @layers.5.qkv tensor<4096x2560xbf16>
engine.weight @rope.local.inv_freq tensor<128xf32>
engine.weight @rope.global.inv_freq tensor<128xf32>

engine.unit @x86_64_v4 <"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40,
    features = ["avx512f", "avx512vnni"]> {
  engine.kv_group @local "sliding" block 16 window 1024
  engine.kv_group @global "global" block 16

  engine.buffer @positions "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @token_sequences "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @block_table.local "input" i32 [#engine.expr<"S">, #engine.expr<"B.local">]
      bytes <"S * B.local * 4"> group @local
  engine.buffer @block_table.global "input" i32 [#engine.expr<"S">, #engine.expr<"B.global">]
      bytes <"S * B.global * 4"> group @global
  engine.buffer @normed "input" f32 [#engine.expr<"T">, #engine.expr<"2560">]
      bytes <"T * 10240">
  engine.buffer @qkv "arena" f32 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 16384">
  engine.buffer @query "arena" f32 [#engine.expr<"T">, #engine.expr<"2048">]
      bytes <"T * 8192">
  engine.buffer @layers.4.context "output" f32 [#engine.expr<"T">, #engine.expr<"2048">]
      bytes <"T * 8192">
  engine.buffer @layers.5.context "output" f32 [#engine.expr<"T">, #engine.expr<"2048">]
      bytes <"T * 8192">
  engine.buffer @layers.4.kv "kv" bf16 [
      #engine.expr<"2">, #engine.expr<"4">, #engine.expr<"16">, #engine.expr<"256">]
      bytes <"65536"> group @local
  engine.buffer @layers.5.kv "kv" bf16 [
      #engine.expr<"2">, #engine.expr<"4">, #engine.expr<"16">, #engine.expr<"256">]
      bytes <"65536"> group @global
  engine.buffer @layers.4.qkv "weight" bf16 [#engine.expr<"4096">, #engine.expr<"2560">]
      bytes <"20971520"> weight @layers.4.qkv
  engine.buffer @layers.5.qkv "weight" bf16 [#engine.expr<"4096">, #engine.expr<"2560">]
      bytes <"20971520"> weight @layers.5.qkv
  engine.buffer @rope.local.inv_freq "weight" f32 [#engine.expr<"128">]
      bytes <"512"> weight @rope.local.inv_freq
  engine.buffer @rope.global.inv_freq "weight" f32 [#engine.expr<"128">]
      bytes <"512"> weight @rope.global.inv_freq

  engine.library @kernels "host_shared_object"
  engine.kernel @matmul_qkv from "matmul_bf16"
      constants {k = 2560 : i64, n = 4096 : i64}
      scratch 65536 library @kernels
  engine.kernel @rope_append_4x256 from "rope_append"
      constants {block = 16 : i64, head = 256 : i64, kv_heads = 4 : i64, query_heads = 8 : i64}
      library @kernels
  engine.kernel @attention_local from "paged_attention"
      constants {block = 16 : i64, group = 2 : i64, head = 256 : i64, window = 1024 : i64}
      guards [#engine.range<"B.local", 1, 66>] scratch 32768 library @kernels
  engine.kernel @attention_global from "paged_attention"
      constants {block = 16 : i64, group = 2 : i64, head = 256 : i64}
      scratch 32768 library @kernels

  engine.arena_tier [#engine.range<"T", 1, 64>, #engine.range<"S", 1, 64>]
      bytes 5391360
      offsets [0, 256, 512, 17408, 2114560, 2769920, 3818496, 4342784, 4867072]
  engine.arena_tier [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>]
      bytes 28332544
      offsets [0, 2048, 4096, 20992, 2118144, 7361024, 15749632, 19943936, 24138240]

  engine.program @step dims [@T, @S, @B.local, @B.global]
      inputs [@positions, @token_sequences, @block_table.local, @block_table.global, @normed]
      outputs [@layers.4.context, @layers.5.context] {
    engine.launch "matmul layers.4.qkv"
        [#engine.variant<@matmul_qkv grid [<"T ceildiv 8">, <"64">]>]
        args [@normed, @layers.4.qkv, @qkv, #engine.expr<"T">]
    engine.launch "rope_append layers.4"
        [#engine.variant<@rope_append_4x256 grid [<"T">]>]
        args [@qkv, @positions, @rope.local.inv_freq, @token_sequences, @block_table.local,
              @layers.4.kv, @query, #engine.expr<"T">, #engine.expr<"B.local">]
    engine.launch "attention layers.4"
        [#engine.variant<@attention_local grid [<"T">, <"4">]>]
        args [@query, @positions, @token_sequences, @block_table.local, @layers.4.kv,
              @layers.4.context, #engine.expr<"T">, #engine.expr<"B.local">]
    engine.segment "layers.4" tap @layers.4.context
    engine.launch "matmul layers.5.qkv"
        [#engine.variant<@matmul_qkv grid [<"T ceildiv 8">, <"64">]>]
        args [@normed, @layers.5.qkv, @qkv, #engine.expr<"T">]
    engine.launch "rope_append layers.5"
        [#engine.variant<@rope_append_4x256 grid [<"T">]>]
        args [@qkv, @positions, @rope.global.inv_freq, @token_sequences, @block_table.global,
              @layers.5.kv, @query, #engine.expr<"T">, #engine.expr<"B.global">]
    engine.launch "attention layers.5"
        [#engine.variant<@attention_global grid [<"T">, <"4">]>]
        args [@query, @positions, @token_sequences, @block_table.global, @layers.5.kv,
              @layers.5.context, #engine.expr<"T">, #engine.expr<"B.global">]
    engine.segment "layers.5" tap @layers.5.context
  }
  engine.coverage @step 2 over [#engine.range<"B.local", 1, 66>]
      by [@attention_local]
  engine.coverage @step 5 over [#engine.range<"B.global", 1, 8192>]
      by [@attention_global]
}
