// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// The q|k|v product of a layer (hidden 4096) with two replaceable rank-16 adapters: each sequence
// names its slot, -1 for none; the adapters' memory belongs to the engine, their bytes come and
// go.

// CHECK: engine.buffer @layers.0.qkv.lora_a "slot" bf16
// CHECK: engine.launch "lora_shrink layers.0.qkv"
// CHECK: @slot_ids

engine.dim @T "step" 1 to 512
engine.dim @S "step" 1 to 64

engine.weight @layers.0.qkv
    tensor<6144x4096xbf16, #engine.layout<[0, 16, 384], [1, 1, 4096], [0, 1, 16]>>

engine.unit @x86_64_v4 <"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40,
    features = ["avx512f", "avx512vnni"]> {
  engine.buffer @normed "input" f32 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 16384">
  engine.buffer @token_sequences "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @slot_ids "input" i32 [#engine.expr<"S">]
      bytes <"S * 4">
  engine.buffer @qkv "output" f32 [#engine.expr<"T">, #engine.expr<"6144">]
      bytes <"T * 24576"> tap "layers.0.qkv"
  engine.buffer @shrunk "arena" f32 [#engine.expr<"T">, #engine.expr<"16">]
      bytes <"T * 64">
  engine.buffer @layers.0.qkv "weight" bf16 [#engine.expr<"6144">, #engine.expr<"4096">]
      bytes <"50331648"> weight @layers.0.qkv
  engine.buffer @layers.0.qkv.lora_a "slot" bf16 [
      #engine.expr<"2">, #engine.expr<"16">, #engine.expr<"4096">]
      bytes <"262144">
  engine.buffer @layers.0.qkv.lora_b "slot" bf16 [
      #engine.expr<"2">, #engine.expr<"6144">, #engine.expr<"16">]
      bytes <"393216">
  engine.buffer @lora_scales "slot" f32 [#engine.expr<"2">]
      bytes <"8">

  engine.library @kernels "host_shared_object"
  engine.kernel @matmul_qkv_t1 from "matmul_bf16"
      constants {k = 4096 : i64, n = 6144 : i64, rows = 1 : i64}
      guards [#engine.range<"T", 1, 4>] scratch 8192 library @kernels
  engine.kernel @matmul_qkv from "matmul_bf16"
      constants {k = 4096 : i64, n = 6144 : i64, rows = 8 : i64}
      scratch 65536 library @kernels
  engine.kernel @lora_shrink_16 from "lora_shrink"
      constants {k = 4096 : i64, rank = 16 : i64}
      library @kernels
  engine.kernel @lora_expand_16 from "lora_expand_add"
      constants {n = 6144 : i64, rank = 16 : i64}
      library @kernels

  engine.arena_tier [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>]
      bytes 21006592
      offsets [0, 8388608, 8390656, 8390912, 20973824]

  engine.program @step dims [@T, @S]
      inputs [@normed, @token_sequences, @slot_ids]
      outputs [@qkv] {
    engine.launch "matmul layers.0.qkv"
        [#engine.variant<@matmul_qkv_t1 where [<"T", 1, 4>] grid [<"384">, <"T">]>,
         #engine.variant<@matmul_qkv grid [<"T ceildiv 8">, <"96">]>]
        args [@normed, @layers.0.qkv, @qkv, #engine.expr<"T">]
    engine.launch "lora_shrink layers.0.qkv"
        [#engine.variant<@lora_shrink_16 grid [<"T">]>]
        args [@normed, @token_sequences, @slot_ids, @layers.0.qkv.lora_a, @shrunk,
              #engine.expr<"T">]
    engine.launch "lora_expand layers.0.qkv"
        [#engine.variant<@lora_expand_16 grid [<"T">, <"24">]>]
        args [@shrunk, @token_sequences, @slot_ids, @layers.0.qkv.lora_b, @lora_scales, @qkv,
              #engine.expr<"T">]
  }
  engine.coverage @step 0 over [#engine.range<"T", 1, 4>]
      by [@matmul_qkv_t1, @matmul_qkv]
  engine.coverage @step 0 over [#engine.range<"T", 5, 512>]
      by [@matmul_qkv]
}
