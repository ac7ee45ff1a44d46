// RUN: %ingot_opt %s --split-input-file --verify-diagnostics --ingot-choose-sums --ingot-select-kernels | FileCheck %s

// The reference runs each operation by itself, with one variant for all shapes.
#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
#rows = #engine.layout<[0, 1, 128], [1, 1, 32]>
module attributes {engine.target = #reference} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  // CHECK-DAG: engine.kernel @Matmul{{.*}} from "Matmul"
  // CHECK-DAG: engine.kernel @Pointwise{{.*}} from "Pointwise"
  // CHECK: engine.program @step
  // CHECK: engine.launch "matmul gate_up" [#engine.variant<@Matmul_{{[0-9]+}} grid[<"T">, <"2">]>]
  // CHECK: engine.launch "pointwise act" [#engine.variant<@Pointwise_{{[0-9]+}} grid[<"T">]>]
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x128xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "w" : tensor<128x32xf32, #rows>
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<128x32xf32, #rows> -> tensor<?x128xf32, "T"> loc("gate_up")
    %1 = llm.pointwise %0 : (tensor<?x128xf32, "T">) -> tensor<?x128xf32, "T"> {
    ^bb0(%v: f32):
      %2 = math.exp %v : f32
      llm.yield %2 : f32
    } loc("act")
    return %1 : tensor<?x128xf32, "T">
  }
}

// -----

// It reads weights in row-major order only.
#reference = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
#panels = #engine.layout<[0, 16, 8], [1, 1, 32], [0, 1, 16]>
module attributes {engine.target = #reference} {
  engine.dim @T "step" 1 to 512
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x128xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "w" : tensor<128x32xf32, #panels>
    // expected-error @+1 {{INGOT-E4100: target 'reference' has no kernel for 'llm.matmul'}}
    %0 = llm.matmul %x, %w : tensor<?x32xf32, "T">, tensor<128x32xf32, #panels> -> tensor<?x128xf32, "T">
    return %0 : tensor<?x128xf32, "T">
  }
}
