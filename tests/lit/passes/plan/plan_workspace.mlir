// RUN: %ingot_opt %s --ingot-plan-memory | FileCheck %s

// A zeroed buffer keeps its place for the whole of all programs: nothing else lies there, though
// only one launch names it.
#cuda = #engine.target<"sm_80", backend = "cuda", arch = "sm_80", preference = 80>
module {
  engine.dim @T "step" 1 to 1
  engine.dim @sms "device" 1 to 1024
  engine.unit @unit #cuda {
    engine.buffer @a "arena" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @b "arena" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @c "arena" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @workspace "arena" i8 [#engine.expr<"64">] bytes #engine.expr<"64"> zeroed
    engine.kernel @k from "copy"
    engine.program @step dims [@T] inputs [] outputs [] {
      engine.launch "1" [#engine.variant<@k grid [#engine.expr<"sms">]>] args [@a, @b, @workspace]
      engine.launch "2" [#engine.variant<@k grid [#engine.expr<"1">]>] args [@b, @c]
    }
  }
}
// CHECK: engine.buffer @workspace "arena" i8 {{.*}} zeroed
// CHECK: engine.arena_tier [#engine.range<"T", 1, 1>] bytes 384 offsets [0, 128, 0, 256]
