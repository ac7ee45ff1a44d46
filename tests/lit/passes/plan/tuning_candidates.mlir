// RUN: %ingot_opt %s --ingot-choose-layouts --ingot-hoist-weights --ingot-choose-sums --ingot-select-kernels --ingot-plan-memory --ingot-prove-coverage | FileCheck %s

// Behind the kernels that run stand all others that tuning may choose, each within its guards: the
// same tile with other stages, and with k not shared (no third extent). Last stands the plain kernel,
// for any number of rows and no candidate.
#cuda = #engine.target<"sm_80", backend = "cuda", arch = "sm_80", preference = 80>
module attributes {engine.target = #cuda, engine.tuning_candidates} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // CHECK: engine.kernel @[[FIRST:MatmulTensor_0]] from
  // CHECK-SAME: guards [#engine.range<"T", 1, 8>]
  // CHECK-SAME: product = "matmul 256 1024 bf16*bf16", row_dim = "T", sums = "tensor x 16, segment = 512", tuning_candidate = "MatmulTensor:8x1x1x1,d64,s[[#]],k"
  // CHECK: tuning_candidate = "MatmulTensor:8x1x1x1,d64,s[[#]]"
  // CHECK: engine.kernel @[[PLAIN:MatmulSimple_[0-9]+]] from
  // CHECK-SAME: plain_kernel = "for comparison only"
  // CHECK-NOT: tuning_candidate
  // CHECK: engine.launch "matmul tokens"
  // CHECK-SAME: <@[[FIRST]] where[<"T", 1, 8>]
  // CHECK-SAME: <@[[FIRST]] grid[<"T ceildiv 8">, <"2">, <"2 * sms
  // CHECK-SAME: grid[<"T ceildiv 8">, <"2">]>
  // CHECK-SAME: <@[[PLAIN]] grid[<"4">, <"T ceildiv 32">]>]
  func.func @step(%x: tensor<?x1024xbf16, "T"> {llm.input = "x"}) -> (tensor<?x256xbf16, "T"> {llm.output = "y"}) {
    %w = llm.weight "w" from "model.safetensors" at 0 : tensor<256x1024xbf16>
    %0 = llm.matmul %x, %w : tensor<?x1024xbf16, "T">, tensor<256x1024xbf16> -> tensor<?x256xbf16, "T"> loc("tokens")
    return %0 : tensor<?x256xbf16, "T">
  }
}
