// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// Speculation: a one-layer draft (Llama-3.2-1B shapes) proposes, one layer of an 8B target scores
// all proposals in its own step, and "verify" keeps the longest prefix that the target agrees
// with.

// CHECK: engine.kv_group @target "global" block 16
// CHECK: engine.program @draft.step
// CHECK: engine.program @step
// CHECK: engine.program @verify
// CHECK: engine.host_call "verify.rollback" "kv_rollback" args [@accepted]

engine.dim @T "step" 1 to 512
engine.dim @S "step" 1 to 64
engine.dim @L "step" 1 to 512
engine.dim @B "load" 1 to 512
engine.dim @B.draft "load" 1 to 512

engine.weight @draft.embed tensor<128256x2048xbf16>
engine.weight @draft.norms tensor<3x2048xbf16>
engine.weight @draft.qkv tensor<3072x2048xi8> format "int8"
engine.weight @draft.qkv.scales tensor<3072xf32>
engine.weight @draft.o tensor<2048x2048xi8> format "int8"
engine.weight @draft.o.scales tensor<2048xf32>
engine.weight @draft.gate_up tensor<16384x2048xi8> format "int8"
engine.weight @draft.gate_up.scales tensor<16384xf32>
engine.weight @draft.down tensor<2048x8192xi8> format "int8"
engine.weight @draft.down.scales tensor<2048xf32>
engine.weight @target.embed tensor<128256x4096xbf16>
engine.weight @target.norms tensor<3x4096xbf16>
engine.weight @target.qkv tensor<6144x4096xi8> format "int8"
engine.weight @target.qkv.scales tensor<6144xf32>
engine.weight @target.o tensor<4096x4096xi8> format "int8"
engine.weight @target.o.scales tensor<4096xf32>
engine.weight @target.gate_up tensor<28672x4096xi8> format "int8"
engine.weight @target.gate_up.scales tensor<28672xf32>
engine.weight @target.down tensor<4096x14336xi8> format "int8"
engine.weight @target.down.scales tensor<4096xf32>
engine.weight @rope.inv_freq.64 tensor<32xf32>
engine.weight @rope.inv_freq.128 tensor<64xf32>

engine.unit @x86_64_v4 <"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40,
    features = ["avx512f", "avx512vnni"]> {
  engine.kv_group @target "global" block 16
  engine.kv_group @draft "global" block 16

  engine.buffer @tokens "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @positions "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @token_sequences "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @block_table "input" i32 [#engine.expr<"S">, #engine.expr<"B">]
      bytes <"S * B * 4"> group @target
  engine.buffer @block_table.draft "input" i32 [#engine.expr<"S">, #engine.expr<"B.draft">]
      bytes <"S * B.draft * 4"> group @draft
  engine.buffer @logit_rows "input" i32 [#engine.expr<"L">]
      bytes <"L * 4">
  engine.buffer @draft_offsets "input" i32 [#engine.expr<"S + 1">]
      bytes <"(S + 1) * 4">
  engine.buffer @draft.hidden "arena" f32 [#engine.expr<"T">, #engine.expr<"2048">]
      bytes <"T * 8192">
  engine.buffer @hidden "arena" f32 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 16384"> tap "layers.0"
  engine.buffer @scratch_rows "arena" f32 [#engine.expr<"T">, #engine.expr<"28672">]
      bytes <"T * 114688">
  engine.buffer @draft_tokens "output" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @draft_logits "arena" f32 [#engine.expr<"L">, #engine.expr<"128256">]
      bytes <"L * 513024">
  engine.buffer @logits "output" f32 [#engine.expr<"L">, #engine.expr<"128256">]
      bytes <"L * 513024">
  engine.buffer @accepted "output" i32 [#engine.expr<"S">]
      bytes <"S * 4">
  engine.buffer @next_tokens "output" i32 [#engine.expr<"S">]
      bytes <"S * 4">
  engine.buffer @draft.kv "kv" bf16 [
      #engine.expr<"2">, #engine.expr<"8">, #engine.expr<"16">, #engine.expr<"64">]
      bytes <"32768"> group @draft
  engine.buffer @target.kv "kv" bf16 [
      #engine.expr<"2">, #engine.expr<"8">, #engine.expr<"16">, #engine.expr<"128">]
      bytes <"65536"> group @target
  engine.buffer @draft.embed "weight" bf16 [#engine.expr<"128256">, #engine.expr<"2048">]
      bytes <"525336576"> weight @draft.embed
  engine.buffer @draft.norms "weight" bf16 [#engine.expr<"3">, #engine.expr<"2048">]
      bytes <"12288"> weight @draft.norms
  engine.buffer @draft.qkv "weight" i8 [#engine.expr<"3072">, #engine.expr<"2048">]
      bytes <"6291456"> weight @draft.qkv
  engine.buffer @draft.qkv.scales "weight" f32 [#engine.expr<"3072">]
      bytes <"12288"> weight @draft.qkv.scales
  engine.buffer @draft.o "weight" i8 [#engine.expr<"2048">, #engine.expr<"2048">]
      bytes <"4194304"> weight @draft.o
  engine.buffer @draft.o.scales "weight" f32 [#engine.expr<"2048">]
      bytes <"8192"> weight @draft.o.scales
  engine.buffer @draft.gate_up "weight" i8 [#engine.expr<"16384">, #engine.expr<"2048">]
      bytes <"33554432"> weight @draft.gate_up
  engine.buffer @draft.gate_up.scales "weight" f32 [#engine.expr<"16384">]
      bytes <"65536"> weight @draft.gate_up.scales
  engine.buffer @draft.down "weight" i8 [#engine.expr<"2048">, #engine.expr<"8192">]
      bytes <"16777216"> weight @draft.down
  engine.buffer @draft.down.scales "weight" f32 [#engine.expr<"2048">]
      bytes <"8192"> weight @draft.down.scales
  engine.buffer @target.embed "weight" bf16 [#engine.expr<"128256">, #engine.expr<"4096">]
      bytes <"1050673152"> weight @target.embed
  engine.buffer @target.norms "weight" bf16 [#engine.expr<"3">, #engine.expr<"4096">]
      bytes <"24576"> weight @target.norms
  engine.buffer @target.qkv "weight" i8 [#engine.expr<"6144">, #engine.expr<"4096">]
      bytes <"25165824"> weight @target.qkv
  engine.buffer @target.qkv.scales "weight" f32 [#engine.expr<"6144">]
      bytes <"24576"> weight @target.qkv.scales
  engine.buffer @target.o "weight" i8 [#engine.expr<"4096">, #engine.expr<"4096">]
      bytes <"16777216"> weight @target.o
  engine.buffer @target.o.scales "weight" f32 [#engine.expr<"4096">]
      bytes <"16384"> weight @target.o.scales
  engine.buffer @target.gate_up "weight" i8 [#engine.expr<"28672">, #engine.expr<"4096">]
      bytes <"117440512"> weight @target.gate_up
  engine.buffer @target.gate_up.scales "weight" f32 [#engine.expr<"28672">]
      bytes <"114688"> weight @target.gate_up.scales
  engine.buffer @target.down "weight" i8 [#engine.expr<"4096">, #engine.expr<"14336">]
      bytes <"58720256"> weight @target.down
  engine.buffer @target.down.scales "weight" f32 [#engine.expr<"4096">]
      bytes <"16384"> weight @target.down.scales
  engine.buffer @rope.inv_freq.64 "weight" f32 [#engine.expr<"32">]
      bytes <"128"> weight @rope.inv_freq.64
  engine.buffer @rope.inv_freq.128 "weight" f32 [#engine.expr<"64">]
      bytes <"256"> weight @rope.inv_freq.128

  engine.library @kernels "host_shared_object"
  engine.kernel @embed_draft from "embed"
      constants {columns = 2048 : i64}
      library @kernels
  engine.kernel @layer_draft from "decoder_layer"
      constants {block = 16 : i64, head = 64 : i64, hidden = 2048 : i64}
      guards [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>] scratch 65536 spmd
      library @kernels facts {instructions = "avx512vnni"}
  engine.kernel @head_draft from "norm_head"
      constants {hidden = 2048 : i64, vocabulary = 128256 : i64}
      scratch 16384 library @kernels
  engine.kernel @embed_target from "embed"
      constants {columns = 4096 : i64}
      library @kernels
  engine.kernel @layer_target from "decoder_layer"
      constants {block = 16 : i64, head = 128 : i64, hidden = 4096 : i64}
      guards [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>] scratch 65536 spmd
      library @kernels facts {instructions = "avx512vnni"}
  engine.kernel @head_target from "norm_head"
      constants {hidden = 4096 : i64, vocabulary = 128256 : i64}
      scratch 16384 library @kernels
  engine.kernel @argmax from "argmax_rows"
      constants {columns = 128256 : i64}
      library @kernels
  engine.kernel @accept from "accept_drafts"
      constants {vocabulary = 128256 : i64}
      library @kernels

  engine.arena_tier [#engine.range<"T", 1, 64>, #engine.range<"S", 1, 64>,
                     #engine.range<"L", 1, 64>]
      bytes 74844224
      offsets [0, 256, 512, 768, 131840, 262912, 263168, 263488, 787776, 1836352, 9176384,
               9176640, 42010176, 74843712, 74843968]
  engine.arena_tier [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>,
                     #engine.range<"L", 1, 512>]
      bytes 596912960
      offsets [0, 2048, 4096, 6144, 137216, 268288, 270336, 270656, 4464960, 12853568,
               71573824, 71575872, 334244160, 596912448, 596912704]

  engine.program @draft.step dims [@T, @S, @L, @B.draft]
      inputs [@tokens, @positions, @token_sequences, @block_table.draft, @logit_rows]
      outputs [@draft_tokens] {
    engine.launch "embed draft"
        [#engine.variant<@embed_draft grid [<"T">]>]
        args [@tokens, @draft.embed, @draft.hidden, #engine.expr<"T">]
    engine.launch "layer draft.0"
        [#engine.variant<@layer_draft grid [<"1">]>]
        args [@draft.hidden, @positions, @token_sequences, @block_table.draft, @draft.kv,
              @draft.norms, @draft.qkv, @draft.qkv.scales, @draft.o, @draft.o.scales,
              @draft.gate_up, @draft.gate_up.scales, @draft.down, @draft.down.scales,
              @rope.inv_freq.64, @scratch_rows, #engine.expr<"T">, #engine.expr<"S">,
              #engine.expr<"B.draft">]
    engine.segment "draft.layers.0"
    engine.launch "head draft"
        [#engine.variant<@head_draft grid [<"L ceildiv 4">, <"64">]>]
        args [@draft.hidden, @logit_rows, #engine.buffer<@draft.norms at <"8192">>,
              @draft.embed, @draft_logits, #engine.expr<"L">]
    engine.launch "argmax draft"
        [#engine.variant<@argmax grid [<"L">]>]
        args [@draft_logits, @draft_tokens, #engine.expr<"L">]
    engine.segment "draft.head"
  }
  engine.program @step dims [@T, @S, @L, @B]
      inputs [@tokens, @positions, @token_sequences, @block_table, @logit_rows]
      outputs [@logits] {
    engine.launch "embed target"
        [#engine.variant<@embed_target grid [<"T">]>]
        args [@tokens, @target.embed, @hidden, #engine.expr<"T">]
    engine.launch "layer target.0"
        [#engine.variant<@layer_target grid [<"1">]>]
        args [@hidden, @positions, @token_sequences, @block_table, @target.kv, @target.norms,
              @target.qkv, @target.qkv.scales, @target.o, @target.o.scales, @target.gate_up,
              @target.gate_up.scales, @target.down, @target.down.scales, @rope.inv_freq.128,
              @scratch_rows, #engine.expr<"T">, #engine.expr<"S">, #engine.expr<"B">]
    engine.segment "target.layers.0" tap @hidden
    engine.launch "head target"
        [#engine.variant<@head_target grid [<"L ceildiv 4">, <"64">]>]
        args [@hidden, @logit_rows, #engine.buffer<@target.norms at <"16384">>,
              @target.embed, @logits, #engine.expr<"L">]
    engine.segment "head"
  }
  engine.program @verify dims [@S, @L]
      inputs [@tokens, @draft_offsets, @logits]
      outputs [@accepted, @next_tokens] {
    engine.launch "accept"
        [#engine.variant<@accept grid [<"S">]>]
        args [@logits, @tokens, @draft_offsets, @accepted, @next_tokens, #engine.expr<"S">,
              #engine.expr<"L">]
    engine.host_call "verify.rollback" "kv_rollback" args [@accepted]
  }
  engine.coverage @draft.step 1 over [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>]
      by [@layer_draft]
  engine.coverage @step 1 over [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>]
      by [@layer_target]
}
