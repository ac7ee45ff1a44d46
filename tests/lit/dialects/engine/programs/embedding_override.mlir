// RUN: %ingot_opt %s -o %t.before
// RUN: %ingot_opt --ingot-engine-round-trip %s -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after

// Vision input: O rows of the embedding (hidden 4096) are replaced by vectors that an image
// encoder made; in a step without images O is 0, and the launch runs nothing.

// CHECK: engine.dim @O "step" 0 to 576
// CHECK: engine.launch "override embed"
// CHECK: #engine.variant<@scatter_rows_4096 grid[<"O">]>

engine.dim @T "step" 1 to 2048
engine.dim @O "step" 0 to 576

engine.weight @embed tensor<151936x4096xbf16>

engine.unit @sm_80 <"sm_80", backend = "cuda", arch = "sm_80", preference = 80>
    attributes {minimum_driver = "550.54", toolkit = "12.4"} {
  engine.buffer @tokens "input" i32 [#engine.expr<"T">]
      bytes <"T * 4">
  engine.buffer @override_rows "input" i32 [#engine.expr<"O">]
      bytes <"O * 4">
  engine.buffer @override_values "input" bf16 [#engine.expr<"O">, #engine.expr<"4096">]
      bytes <"O * 8192">
  engine.buffer @hidden "output" bf16 [#engine.expr<"T">, #engine.expr<"4096">]
      bytes <"T * 8192"> tap "embed"
  engine.buffer @embed "weight" bf16 [#engine.expr<"151936">, #engine.expr<"4096">]
      bytes <"1244659712"> weight @embed

  engine.library @kernels "cubin"
  engine.library @portable "ptx"
  engine.kernel @embed_4096 from "embed"
      constants {columns = 4096 : i64}
      block [256, 1, 1] library @kernels
  engine.kernel @scatter_rows_4096 from "scatter_rows"
      constants {columns = 4096 : i64}
      block [256, 1, 1] library @kernels

  engine.arena_tier [#engine.range<"T", 1, 256>, #engine.range<"O", 0, 0>]
      bytes 2098176
      offsets [0, 1024, 1024, 1024]
  engine.arena_tier [#engine.range<"T", 1, 2048>, #engine.range<"O", 0, 576>]
      bytes 21506304
      offsets [0, 8192, 10496, 4729088]

  engine.program @step dims [@T, @O]
      inputs [@tokens, @override_rows, @override_values]
      outputs [@hidden] {
    engine.launch "embed"
        [#engine.variant<@embed_4096 grid [<"T">]>]
        args [@tokens, @embed, @hidden, #engine.expr<"T">]
    engine.launch "override embed"
        [#engine.variant<@scatter_rows_4096 grid[<"O">]>]
        args [@override_rows, @override_values, @hidden, #engine.expr<"O">]
    engine.segment "embed" tap @hidden
  }
  engine.coverage @step 1 over [#engine.range<"O", 0, 576>]
      by [@scatter_rows_4096]
}
