// RUN: %ingot_opt %s --split-input-file --ingot-prove-coverage --verify-diagnostics | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.unit @unit #x86 {
    engine.kernel @one from "gemv" guards [#engine.range<"T", 1, 1>]
    engine.kernel @many from "gemm" guards [#engine.range<"T", 2, 1024>]
    engine.program @step dims [@T, @S] inputs [] outputs [] {
      engine.launch "matmul q_proj" [#engine.variant<@one grid [#engine.expr<"1">]>, #engine.variant<@many grid [#engine.expr<"T">]>] args []
    }
    // CHECK: engine.coverage @step 0 over [#engine.range<"T", 1, 512>, #engine.range<"S", 1, 64>] by [@one, @many]
  }
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.unit @unit #x86 {
    engine.kernel @one from "gemv" guards [#engine.range<"T", 1, 1>]
    engine.kernel @many from "gemm" guards [#engine.range<"T", 5, 1024>]
    engine.program @step dims [@T, @S] inputs [] outputs [] {
      // expected-error @below {{INGOT-E3022: 'matmul q_proj' has no kernel on target x86-64-v4 for T 2 to 4 S 1 to 64}}
      engine.launch "matmul q_proj" [#engine.variant<@one grid [#engine.expr<"1">]>, #engine.variant<@many where [#engine.range<"T", 2, 512>] grid [#engine.expr<"T">]>] args []
    }
  }
}
