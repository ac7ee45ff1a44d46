// RUN: %ingot_opt %s --ingot-plan-memory | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module {
  engine.dim @T "step" 1 to 16
  engine.unit @unit #x86 {
    engine.buffer @in "input" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @a "arena" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @b "arena" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @c "arena" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.buffer @out "output" f32 [#engine.expr<"T">, #engine.expr<"16">] bytes #engine.expr<"T * 64">
    engine.kernel @k from "copy"
    engine.program @step dims [@T] inputs [@in] outputs [@out] {
      engine.launch "1" [#engine.variant<@k grid [#engine.expr<"1">]>] args [@in, @a]
      engine.launch "2" [#engine.variant<@k grid [#engine.expr<"1">]>] args [@a, @b]
      engine.launch "3" [#engine.variant<@k grid [#engine.expr<"1">]>] args [@b, @c]
      engine.launch "4" [#engine.variant<@k grid [#engine.expr<"1">]>] args [@c, @out]
    }
  }
}
// Smaller steps first. a and c never live together and share a place; every buffer ends with 64
// spare bytes. At T = 16: 1088 bytes each, four places.
// CHECK: engine.arena_tier [#engine.range<"T", 1, 1>] bytes 512 offsets [0, 128, 256, 128, 384]
// CHECK: engine.arena_tier [#engine.range<"T", 1, 4>] bytes 1280 offsets [0, 320, 640, 320, 960]
// CHECK: engine.arena_tier [#engine.range<"T", 1, 16>] bytes 4352 offsets [0, 1088, 2176, 1088, 3264]
