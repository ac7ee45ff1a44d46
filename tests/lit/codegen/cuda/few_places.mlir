// RUN: %ingot_opt %s --ingot-choose-layouts --ingot-hoist-weights --ingot-choose-sums --ingot-select-kernels --ingot-plan-memory --ingot-prove-coverage | FileCheck %s

// 48 tiles on 84 multiprocessors with room for one block each: a single share would leave 36 without work, and three shares
// fill two waves to 6/7. A product whose tiles fill the part does not share k.
#cuda = #engine.target<"sm_86", backend = "cuda", arch = "sm_86", preference = 86>
module attributes {engine.target = #cuda} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // CHECK: engine.launch "matmul few"
  // CHECK-SAME: where[<"T", 1, 8>] grid[<"T ceildiv 8">, <"48">, <"2 * sms floordiv 48 max 1 min 3">]
  // CHECK: engine.launch "matmul many"
  // CHECK-SAME: where[<"T", 1, 8>] grid[<"T ceildiv 8">, <"96">]>
  func.func @step(%x: tensor<?x4096xbf16, "T"> {llm.input = "x"}) -> (tensor<?x6144xbf16, "T"> {llm.output = "y"}, tensor<?x12288xbf16, "T"> {llm.output = "z"}) {
    %v = llm.weight "v" from "model.safetensors" at 0 : tensor<6144x4096xbf16>
    %w = llm.weight "w" from "model.safetensors" at 50331648 : tensor<12288x4096xbf16>
    %0 = llm.matmul %x, %v : tensor<?x4096xbf16, "T">, tensor<6144x4096xbf16> -> tensor<?x6144xbf16, "T"> loc("few")
    %1 = llm.matmul %x, %w : tensor<?x4096xbf16, "T">, tensor<12288x4096xbf16> -> tensor<?x12288xbf16, "T"> loc("many")
    return %0, %1 : tensor<?x6144xbf16, "T">, tensor<?x12288xbf16, "T">
  }
}
