// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// Tree speculation: up to 64 drafted tokens of a sequence attend to the cache and to their
// ancestors only, by a bit mask; afterwards "keep_path" moves the accepted branch to consecutive
// KV positions.

// CHECK: engine.buffer @tree_mask "input" ui32
// CHECK: engine.launch "tree_attention layers.0"
// CHECK: engine.program @keep_path

engine.dim @T "step" 1 to 1024
engine.dim @S "step" 1 to 16
engine.dim @B "load" 1 to 512

engine.weight @rope.inv_freq tensor<64xf32>

engine.unit @sm_90a <"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
    attributes {minimum_driver = "550.54", toolkit = "12.4"} {
  engine.kv_group @global "global" block 16

  engine.buffer @positions "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @cache_places "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @token_sequences "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @block_table "input" i32 [#engine.expr<"S">, #engine.expr<"B">]
      bytes <"S * B * 4"> group @global
  engine.buffer @tree_starts "input" i32 [#engine.expr<"S">]
      bytes <"S * 4">
  engine.buffer @tree_mask "input" ui32 [#engine.expr<"T">, #engine.expr<"2">]
      bytes <"T * 8">
  engine.buffer @kept_from "input" i32 [#engine.expr<"S">, #engine.expr<"64">]
      bytes <"S * 256">
  engine.buffer @kept "input" i32 [#engine.expr<"S">]
      bytes <"S * 4">
  engine.buffer @qkv "input" bf16 [#engine.expr<"T">, #engine.expr<"6144">]
      bytes <"T * 12288">
  engine.buffer @query "arena" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192">
  engine.buffer @context "output" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192">
  engine.buffer @layers.0.kv "kv" f8E4M3FN [
      #engine.expr<"2">, #engine.expr<"8">, #engine.expr<"16">, #engine.expr<"128">]
      bytes <"33792"> group @global
  engine.buffer @rope.inv_freq "weight" f32 [#engine.expr<"64">]
      bytes <"256"> weight @rope.inv_freq

  engine.library @kernels "cubin"
  engine.kernel @rope_append_8x128_e4m3 from "rope_append"
      constants {block = 16 : i64, head = 128 : i64, kv_heads = 8 : i64, query_heads = 32 : i64}
      block [128, 1, 1] library @kernels
  engine.kernel @tree_attention_32x128_e4m3 from "paged_tree_attention"
      constants {block = 16 : i64, group = 4 : i64, head = 128 : i64}
      guards [#engine.range<"T", 1, 1024>] shared 98304 block [128, 1, 1]
      library @kernels
  engine.kernel @kv_move_8x128_e4m3 from "kv_move"
      constants {block = 16 : i64, head = 128 : i64, kv_heads = 8 : i64}
      block [128, 1, 1] library @kernels

  engine.arena_tier [#engine.range<"T", 1, 1024>, #engine.range<"S", 1, 16>]
      bytes 29417600
      offsets [0, 4096, 8192, 12288, 45056, 45120, 53312, 57408, 57472, 12640384, 21028992]

  engine.program @step dims [@T, @S, @B]
      inputs [@positions, @cache_places, @token_sequences, @block_table, @tree_starts,
              @tree_mask, @qkv]
      outputs [@context] {
    engine.launch "rope_append layers.0"
        [#engine.variant<@rope_append_8x128_e4m3 grid [<"T">]>]
        args [@qkv, @positions, @cache_places, @rope.inv_freq, @token_sequences,
              @block_table, @layers.0.kv, @query, #engine.expr<"T">, #engine.expr<"B">]
    engine.launch "tree_attention layers.0"
        [#engine.variant<@tree_attention_32x128_e4m3 grid [<"T ceildiv 16">, <"8">]>]
        args [@query, @cache_places, @token_sequences, @block_table, @tree_starts,
              @tree_mask, @layers.0.kv, @context, #engine.expr<"T">, #engine.expr<"B">,
              8.838835e-02 : f64]
  }
  engine.program @keep_path dims [@S, @B]
      inputs [@block_table, @tree_starts, @kept_from, @kept]
      outputs [] {
    engine.launch "kv_move layers.0"
        [#engine.variant<@kv_move_8x128_e4m3 grid [<"S">, <"8">]>]
        args [@block_table, @tree_starts, @kept_from, @kept, @layers.0.kv, #engine.expr<"B">]
  }
  engine.coverage @step 1 over [#engine.range<"T", 1, 1024>]
      by [@tree_attention_32x128_e4m3]
}
