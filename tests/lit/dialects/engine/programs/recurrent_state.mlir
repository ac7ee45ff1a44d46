// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// One layer of a model of Mamba-2-2.7B shapes: convolution and state-space rows live in a slot per
// sequence; a sequence whose first token stands at position 0 starts from zeros, so slots need no
// clearing.

// CHECK: engine.buffer @layers.0.ssm_state "state" f32
// CHECK: engine.launch "conv layers.0"
// CHECK: engine.launch "scan layers.0"

engine.dim @T "step" 1 to 512
engine.dim @S "step" 1 to 64

engine.weight @layers.0.norm tensor<2560xf32>
engine.weight @layers.0.in_proj tensor<10576x2560xbf16>
engine.weight @layers.0.conv tensor<5376x4xf32>
engine.weight @layers.0.conv_bias tensor<5376xf32>
engine.weight @layers.0.scan tensor<3x80xf32>
engine.weight @layers.0.gate_norm tensor<5120xf32>
engine.weight @layers.0.out_proj tensor<2560x5120xbf16>

engine.unit @x86_64_v4 <"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 40,
    features = ["avx512f", "avx512vnni"]> {
  engine.buffer @positions "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @sequence_offsets "input" i32 [#engine.expr<"S + 1">]
      bytes <"(S + 1) * 4">
  engine.buffer @state_slots "input" i32 [#engine.expr<"S">]
      bytes <"S * 4">
  engine.buffer @hidden "input" f32 [#engine.expr<"T">, #engine.expr<"2560">]
      bytes <"T * 10240"> tap "layers.0"
  engine.buffer @normed "arena" f32 [#engine.expr<"T">, #engine.expr<"2560">]
      bytes <"T * 10240">
  engine.buffer @projected "arena" f32 [#engine.expr<"T">, #engine.expr<"10576">]
      bytes <"T * 42304">
  engine.buffer @convolved "arena" f32 [#engine.expr<"T">, #engine.expr<"5376">]
      bytes <"T * 21504">
  engine.buffer @scanned "arena" f32 [#engine.expr<"T">, #engine.expr<"5120">]
      bytes <"T * 20480">
  engine.buffer @gated "arena" f32 [#engine.expr<"T">, #engine.expr<"5120">]
      bytes <"T * 20480">
  engine.buffer @layers.0.conv_state "state" f32 [#engine.expr<"3">, #engine.expr<"5376">]
      bytes <"64512">
  engine.buffer @layers.0.ssm_state "state" f32 [
      #engine.expr<"80">, #engine.expr<"64">, #engine.expr<"128">]
      bytes <"2621440">
  engine.buffer @layers.0.norm "weight" f32 [#engine.expr<"2560">]
      bytes <"10240"> weight @layers.0.norm
  engine.buffer @layers.0.in_proj "weight" bf16 [#engine.expr<"10576">, #engine.expr<"2560">]
      bytes <"54149120"> weight @layers.0.in_proj
  engine.buffer @layers.0.conv "weight" f32 [#engine.expr<"5376">, #engine.expr<"4">]
      bytes <"86016"> weight @layers.0.conv
  engine.buffer @layers.0.conv_bias "weight" f32 [#engine.expr<"5376">]
      bytes <"21504"> weight @layers.0.conv_bias
  engine.buffer @layers.0.scan "weight" f32 [#engine.expr<"3">, #engine.expr<"80">]
      bytes <"960"> weight @layers.0.scan
  engine.buffer @layers.0.gate_norm "weight" f32 [#engine.expr<"5120">]
      bytes <"20480"> weight @layers.0.gate_norm
  engine.buffer @layers.0.out_proj "weight" bf16 [#engine.expr<"2560">, #engine.expr<"5120">]
      bytes <"26214400"> weight @layers.0.out_proj

  engine.library @kernels "host_shared_object"
  engine.kernel @rms_norm_2560 from "rms_norm"
      constants {columns = 2560 : i64, eps = 9.99999974E-6 : f32}
      library @kernels
  engine.kernel @matmul_in_proj from "matmul_bf16"
      constants {k = 2560 : i64, n = 10576 : i64}
      scratch 65536 library @kernels
  engine.kernel @conv_4x5376 from "causal_conv"
      constants {channels = 5376 : i64, taps = 4 : i64}
      library @kernels
  engine.kernel @scan_80x64x128 from "state_space_scan"
      constants {head = 64 : i64, heads = 80 : i64, state = 128 : i64}
      scratch 32768 library @kernels
  engine.kernel @gated_norm_5120 from "gated_rms_norm"
      constants {columns = 5120 : i64, eps = 9.99999974E-6 : f32}
      library @kernels
  engine.kernel @matmul_out_proj_add from "matmul_bf16"
      constants {k = 5120 : i64, n = 2560 : i64}
      scratch 65536 library @kernels epilogue {
    ^bb0(%sum: f32, %residual: f32):
      %0 = arith.addf %sum, %residual : f32
      engine.yield %0 : f32
  }

  engine.arena_tier [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>]
      bytes 64129600
      offsets [0, 2048, 2368, 2624, 5245504, 10488384, 32148032, 43158080, 53643840]

  engine.program @step dims [@T, @S]
      inputs [@positions, @sequence_offsets, @state_slots, @hidden]
      outputs [@hidden] {
    engine.launch "rms_norm layers.0.norm"
        [#engine.variant<@rms_norm_2560 grid [<"T">]>]
        args [@hidden, @layers.0.norm, @normed, #engine.expr<"T">]
    engine.launch "matmul layers.0.in_proj"
        [#engine.variant<@matmul_in_proj grid [<"T ceildiv 8">, <"166">]>]
        args [@normed, @layers.0.in_proj, @projected, #engine.expr<"T">]
    engine.launch "conv layers.0"
        [#engine.variant<@conv_4x5376 grid [<"S">, <"84">]>]
        args [@projected, @positions, @sequence_offsets, @state_slots, @layers.0.conv,
              @layers.0.conv_bias, @layers.0.conv_state, @convolved, #engine.expr<"S">]
    engine.launch "scan layers.0"
        [#engine.variant<@scan_80x64x128 grid [<"S">, <"80">]>]
        args [@projected, @convolved, @positions, @sequence_offsets, @state_slots,
              @layers.0.scan, @layers.0.ssm_state, @scanned, #engine.expr<"S">]
    engine.launch "gated_norm layers.0"
        [#engine.variant<@gated_norm_5120 grid [<"T">]>]
        args [@scanned, @projected, @layers.0.gate_norm, @gated, #engine.expr<"T">]
    engine.launch "matmul layers.0.out_proj"
        [#engine.variant<@matmul_out_proj_add grid [<"T ceildiv 8">, <"40">]>]
        args [@gated, @layers.0.out_proj, @hidden, #engine.expr<"T">]
    engine.segment "layers.0" tap @hidden
  }
  engine.coverage @step 3 over [#engine.range<"S", 1, 64>]
      by [@scan_80x64x128]
}
