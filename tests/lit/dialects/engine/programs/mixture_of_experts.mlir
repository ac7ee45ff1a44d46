// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// The expert layer of a model of Qwen3-30B-A3B shapes on two GPUs, 64 of 128 experts each, 8 per
// token. Counts never leave the device: grids and exchanges are bounds, blocks beyond the true
// counts exit.

// CHECK: engine.collective "layers.0.experts.counts" "all_to_all" i32
// CHECK: counts @send_elements receive_counts @receive_elements
// CHECK: @grouped_gate_up grid
// CHECK: @expert_offsets

engine.dim @T "step" 1 to 1024

engine.weight @layers.0.router tensor<128x2048xbf16>
engine.weight @layers.0.gate_up tensor<98304x2048xbf16>
engine.weight @layers.0.down tensor<131072x768xbf16>

engine.unit @sm_90a.rank0 <"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
    rank 0 of 2 attributes {minimum_driver = "550.54", toolkit = "12.4"} {
  engine.rank_group @experts [0, 1]

  engine.buffer @normed "input" bf16 [#engine.expr<"T">, #engine.expr<"2048">]
      bytes <"T * 4096">
  engine.buffer @hidden "input" bf16 [#engine.expr<"T">, #engine.expr<"2048">]
      bytes <"T * 4096"> tap "layers.0"
  engine.buffer @router_logits "arena" f32 [#engine.expr<"T">, #engine.expr<"128">]
      bytes <"T * 512">
  engine.buffer @expert_ids "arena" i32 [#engine.expr<"T">, #engine.expr<"8">]
      bytes <"T * 32">
  engine.buffer @expert_weights "arena" f32 [#engine.expr<"T">, #engine.expr<"8">]
      bytes <"T * 32">
  engine.buffer @slots "arena" i32 [#engine.expr<"T">, #engine.expr<"8">]
      bytes <"T * 32">
  engine.buffer @send_rows_per_expert "arena" i32 [#engine.expr<"2">, #engine.expr<"64">]
      bytes <"512">
  engine.buffer @receive_rows_per_expert "arena" i32 [#engine.expr<"2">, #engine.expr<"64">]
      bytes <"512">
  engine.buffer @send_elements "arena" i32 [#engine.expr<"2">]
      bytes <"8">
  engine.buffer @receive_elements "arena" i32 [#engine.expr<"2">]
      bytes <"8">
  engine.buffer @expert_offsets "arena" i32 [#engine.expr<"65">]
      bytes <"260">
  engine.buffer @send_rows "arena" bf16 [
      #engine.expr<"2">, #engine.expr<"T * 8">, #engine.expr<"2048">]
      bytes <"T * 8 * 8192">
  engine.buffer @received_rows "arena" bf16 [
      #engine.expr<"2">, #engine.expr<"T * 8">, #engine.expr<"2048">]
      bytes <"T * 8 * 8192">
  engine.buffer @expert_rows "arena" bf16 [#engine.expr<"T * 16">, #engine.expr<"2048">]
      bytes <"T * 16 * 4096">
  engine.buffer @activated "arena" bf16 [#engine.expr<"T * 16">, #engine.expr<"768">]
      bytes <"T * 16 * 1536">
  engine.buffer @returned_rows "arena" bf16 [
      #engine.expr<"2">, #engine.expr<"T * 8">, #engine.expr<"2048">]
      bytes <"T * 8 * 8192">
  engine.buffer @layers.0.router "weight" bf16 [#engine.expr<"128">, #engine.expr<"2048">]
      bytes <"524288"> weight @layers.0.router
  engine.buffer @layers.0.gate_up "weight" bf16 [#engine.expr<"98304">, #engine.expr<"2048">]
      bytes <"402653184"> weight @layers.0.gate_up
  engine.buffer @layers.0.down "weight" bf16 [#engine.expr<"131072">, #engine.expr<"768">]
      bytes <"201326592"> weight @layers.0.down

  engine.library @kernels "cubin"
  engine.kernel @matmul_router from "wgmma_bf16"
      constants {k = 2048 : i64, n = 128 : i64}
      shared 131072 block [384, 1, 1] library @kernels
  engine.kernel @route_top8 from "route_experts"
      constants {chosen = 8 : i64, experts = 128 : i64}
      block [128, 1, 1] library @kernels
  engine.kernel @send_by_rank from "scatter_to_ranks"
      constants {columns = 2048 : i64, ranks = 2 : i64}
      block [256, 1, 1] library @kernels
  engine.kernel @expert_offsets_64 from "sum_counts"
      constants {columns = 2048 : i64, experts = 64 : i64, ranks = 2 : i64}
      block [64, 1, 1] library @kernels
  engine.kernel @group_by_expert from "gather_rows_by_expert"
      constants {columns = 2048 : i64, ranks = 2 : i64}
      block [256, 1, 1] library @kernels
  engine.kernel @grouped_gate_up from "grouped_wgmma_bf16"
      constants {experts = 64 : i64, k = 2048 : i64, n = 1536 : i64, pair = 64 : i64}
      guards [#engine.range<"T", 1, 1024>] shared 196608 block [384, 1, 1]
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
  engine.kernel @grouped_down from "grouped_wgmma_bf16"
      constants {experts = 64 : i64, k = 768 : i64, n = 2048 : i64}
      guards [#engine.range<"T", 1, 1024>] shared 196608 block [384, 1, 1]
      library @kernels
  engine.kernel @ungroup from "scatter_rows_by_expert"
      constants {columns = 2048 : i64, ranks = 2 : i64}
      block [256, 1, 1] library @kernels
  engine.kernel @combine_top8 from "combine_experts"
      constants {chosen = 8 : i64, columns = 2048 : i64}
      block [256, 1, 1] library @kernels

  engine.arena_tier [#engine.range<"T", 1, 1024>]
      bytes 302613952
      offsets [0, 4194304, 8388608, 8912896, 8945664, 8978432, 9011200, 9011712, 9012224,
               9012288, 9012352, 9012672, 76121536, 143230400, 210339264, 235505088]

  engine.program @step dims [@T]
      inputs [@normed, @hidden]
      outputs [@hidden] {
    engine.launch "matmul layers.0.router"
        [#engine.variant<@matmul_router grid [<"T ceildiv 128">, <"1">]>]
        args [@normed, @layers.0.router, @router_logits, #engine.expr<"T">]
    engine.launch "route layers.0.experts"
        [#engine.variant<@route_top8 grid [<"T">]>]
        args [@router_logits, @expert_ids, @expert_weights, @slots, @send_rows_per_expert,
              #engine.expr<"T">]
    engine.launch "scatter layers.0.experts"
        [#engine.variant<@send_by_rank grid [<"T">, <"8">]>]
        args [@normed, @expert_ids, @slots, @send_rows_per_expert, @send_rows,
              @send_elements, #engine.expr<"T">]
    engine.collective "layers.0.experts.counts" "all_to_all" i32 @send_rows_per_expert
        to @receive_rows_per_expert count <"64"> over @experts
    engine.launch "count layers.0.experts"
        [#engine.variant<@expert_offsets_64 grid [<"1">]>]
        args [@receive_rows_per_expert, @receive_elements, @expert_offsets]
    engine.collective "layers.0.experts.dispatch" "all_to_all" bf16 @send_rows to @received_rows
        count <"T * 16384"> over @experts counts @send_elements receive_counts @receive_elements
    engine.launch "group layers.0.experts"
        [#engine.variant<@group_by_expert grid [<"T * 16">]>]
        args [@received_rows, @receive_rows_per_expert, @expert_offsets, @expert_rows,
              #engine.expr<"T * 8">]
    engine.launch "matmul layers.0.experts.gate_up"
        [#engine.variant<@grouped_gate_up grid [<"T * 16 ceildiv 128 + 64">, <"12">]>]
        args [@expert_rows, @layers.0.gate_up, @expert_offsets, @activated,
              #engine.expr<"T * 16">]
    engine.launch "matmul layers.0.experts.down"
        [#engine.variant<@grouped_down grid [<"T * 16 ceildiv 128 + 64">, <"16">]>]
        args [@activated, @layers.0.down, @expert_offsets, @expert_rows,
              #engine.expr<"T * 16">]
    engine.launch "ungroup layers.0.experts"
        [#engine.variant<@ungroup grid [<"T * 16">]>]
        args [@expert_rows, @receive_rows_per_expert, @expert_offsets, @received_rows,
              #engine.expr<"T * 8">]
    engine.collective "layers.0.experts.combine" "all_to_all" bf16 @received_rows to @returned_rows
        count <"T * 16384"> over @experts counts @receive_elements receive_counts @send_elements
    engine.launch "combine layers.0.experts"
        [#engine.variant<@combine_top8 grid [<"T">]>]
        args [@returned_rows, @expert_ids, @slots, @expert_weights, @hidden,
              #engine.expr<"T * 8">]
    engine.segment "layers.0" tap @hidden
  }
  engine.coverage @step 7 over [#engine.range<"T", 1, 1024>]
      by [@grouped_gate_up]
}
