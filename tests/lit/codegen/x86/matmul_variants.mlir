// RUN: %ingot_opt %s --ingot-choose-sums --ingot-select-kernels | FileCheck %s

#x86 = #engine.target<"x86-64-v4+vnni", backend = "x86", arch = "x86-64", preference = 45, features = ["avx512f"]>
#panels = #engine.layout<[0, 16, 64], [1, 1, 32], [0, 1, 16]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // Single rows, few rows, many rows; the last variant takes what is left. Rows counted by L never
  // pass 8, so two variants cover them.
  // CHECK: engine.program @step
  // CHECK: engine.launch "matmul tokens"
  // CHECK-SAME: where[<"T", 1, 1>] grid[<"16">, <"T">]
  // CHECK-SAME: where[<"T", 2, 32>] grid[<"16">, <"T ceildiv 36">]
  // CHECK-SAME: grid[<"8">, <"T ceildiv 264">]
  // CHECK: engine.launch "matmul logits"
  // CHECK-SAME: where[<"L", 1, 1>] grid[<"16">, <"L">]
  // CHECK-SAME: grid[<"16">, <"L ceildiv 36">]
  // CHECK-NOT: ceildiv 264
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}, %z: tensor<?x32xf32, "L"> {llm.input = "z"})
      -> (tensor<?x1024xf32, "T"> {llm.output = "y"}, tensor<?x1024xf32, "L"> {llm.output = "l"}) {
    %w = llm.load_weight "w" : tensor<1024x32xf32, #panels>
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<1024x32xf32, #panels> -> tensor<?x1024xf32, "T"> loc("tokens")
    %1 = llm.matmul %z, %w : tensor<?x32xf32, "L">, tensor<1024x32xf32, #panels> -> tensor<?x1024xf32, "L"> loc("logits")
    return %0, %1 : tensor<?x1024xf32, "T">, tensor<?x1024xf32, "L">
  }
}
