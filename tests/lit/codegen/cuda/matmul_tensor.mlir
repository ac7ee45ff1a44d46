// RUN: %ingot_opt %s --ingot-choose-layouts --ingot-hoist-weights --ingot-choose-sums --ingot-select-kernels --ingot-plan-memory --ingot-prove-coverage | FileCheck %s

// A bf16 product on Hopper, by wgmma: weights in matrices of eight rows, which a warp brings by tensor copies with the inputs, a tile for each number of tokens. Tiles of tokens are
// the first axis of the grid. With few tokens blocks share k; how many do is a formula of the device's multiprocessors. Sums on their way lie in the
// unit's workspace, which begins with counters, is zero at load and lives throughout.
#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
module attributes {engine.target = #cuda} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // CHECK: engine.dim @sms "device" 1 to 1024
  // CHECK: engine.weight @{{.*}} tensor<256x1024xbf16, #engine.layout<[0, 16, 16], [1, 16, 64], [1, 8, 2], [0, 8, 2], [0, 1, 8], [1, 1, 8]>>
  // CHECK: engine.buffer @workspace "arena" i8 {{.*}} zeroed
  // CHECK: engine.kernel @MatmulGroup_0 from "MatmulGroup"
  // CHECK-SAME: expects = "HGMMA UTMALDG"
  // CHECK-SAME: block [288]
  // CHECK-SAME: maps [#engine.tensor_map<buffer = 1, rows = 16 x 32768, box = 8 x 2048>, #engine.tensor_map<buffer = 0,
  // CHECK: engine.launch "matmul tokens"
  // CHECK-SAME: where[<"T", 1, 8>] grid[<"T ceildiv 8">, <"2">, <"2 * sms floordiv 2 max 1 min 2">]
  // CHECK-SAME: where[<"T", 9, 16>]
  // CHECK-SAME: where[<"T", 33, 64>]
  // CHECK-SAME: <@MatmulGroup_4 grid[<"T ceildiv 128">, <"2">]>
  // CHECK-SAME: args [@x, @{{[^,]*}}, @y, @workspace, #engine.expr<"T">
  func.func @step(%x: tensor<?x1024xbf16, "T"> {llm.input = "x"}) -> (tensor<?x256xbf16, "T"> {llm.output = "y"}) {
    %w = llm.weight "w" from "model.safetensors" at 0 : tensor<256x1024xbf16>
    %0 = llm.matmul %x, %w : tensor<?x1024xbf16, "T">, tensor<256x1024xbf16> -> tensor<?x256xbf16, "T"> loc("tokens")
    return %0 : tensor<?x256xbf16, "T">
  }
}
