// RUN: %ingot_opt %s --split-input-file --verify-diagnostics --ingot-choose-sums --ingot-select-kernels | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#norm = #engine.layout<[0, 1, 32], [1, 1, 1]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  // CHECK: engine.weight @norm.weight tensor<32xf32
  // CHECK: engine.unit @unit
  // CHECK: engine.buffer @x "input" f32 [#engine.expr<"T">, #engine.expr<"32">]
  // CHECK-DAG: engine.buffer @weight.norm.weight "weight" f32
  // CHECK-DAG: engine.buffer @y "output" f32
  // Both norms are the same kernel.
  // CHECK: engine.kernel @[[K:.+]] from
  // CHECK-NOT: engine.kernel @
  // CHECK: engine.program @step
  // CHECK: engine.launch "norm first" [#engine.variant<@[[K]]
  // CHECK-SAME: args [@x, @weight.norm.weight, @[[V:.+]], #engine.expr<"T">]
  // CHECK: engine.segment "embed" tap @[[V]]
  // CHECK: engine.launch "norm second" [#engine.variant<@[[K]]
  // CHECK-SAME: args [@[[V]], @weight.norm.weight, @y
  // CHECK: engine.segment "head" tap @y
  // CHECK-NOT: func.func @step
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x32xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "norm.weight" : tensor<32xf32, #norm>
    %0 = llm.norm %x weight(%w : tensor<32xf32, #norm>) eps 1.0e-5 : tensor<?x32xf32, "T"> -> tensor<?x32xf32, "T"> loc("first")
    %1 = llm.boundary %0 ends "embed" : tensor<?x32xf32, "T">
    %2 = llm.norm %1 weight(%w : tensor<32xf32, #norm>) eps 1.0e-5 : tensor<?x32xf32, "T"> -> tensor<?x32xf32, "T"> loc("second")
    return %2 : tensor<?x32xf32, "T">
  }
}

// -----

// Joined rows are the memory that they were, and no launch.

#cpu = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #cpu} {
  engine.dim @E "step" 1 to 64
  // CHECK-LABEL: engine.program @encode
  // CHECK-NEXT: engine.launch "norm apart" {{.*}} args [@x, @[[V:[^,]+]],
  // CHECK-NEXT: engine.launch "norm joined" {{.*}} args [@[[V]], @y,
  func.func @encode(%x: tensor<?x32xf32, "E * 4"> {llm.input = "x"}) -> (tensor<?x128xf32, "E"> {llm.output = "y"}) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x32xf32, "E * 4"> -> tensor<?x32xf32, "E * 4"> loc("apart")
    %1 = llm.join_rows %0 : tensor<?x32xf32, "E * 4"> -> tensor<?x128xf32, "E">
    %2 = llm.norm %1 eps 1.0e-5 : tensor<?x128xf32, "E"> -> tensor<?x128xf32, "E"> loc("joined")
    return %2 : tensor<?x128xf32, "E">
  }
}

// -----

#cpu = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #cpu} {
  engine.dim @E "step" 1 to 64
  func.func @encode(%x: tensor<?x32xf32, "E * 4"> {llm.input = "x"}) -> (tensor<?x128xf32, "E"> {llm.output = "y"}) {
    // expected-error @+1 {{a view of other memory cannot be a result}}
    %0 = llm.join_rows %x : tensor<?x32xf32, "E * 4"> -> tensor<?x128xf32, "E">
    return %0 : tensor<?x128xf32, "E">
  }
}

// -----

// What two programs read by one name is one buffer.

#cpu = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #cpu} {
  engine.dim @T "step" 1 to 512
  engine.dim @P "step" 1 to 64
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x32xf32, "T"> {llm.output = "y"}) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x32xf32, "T"> -> tensor<?x32xf32, "T">
    return %0 : tensor<?x32xf32, "T">
  }
  // expected-error @+1 {{'x' is 'tensor<?x32xf32, "P">', in another program 'tensor<?x32xf32, "T">'}}
  func.func @draft(%x: tensor<?x32xf32, "P"> {llm.input = "x"}) -> (tensor<?x32xf32, "P"> {llm.output = "draft.y"}) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x32xf32, "P"> -> tensor<?x32xf32, "P">
    return %0 : tensor<?x32xf32, "P">
  }
}

// -----

// Each program has the dims of its own launches.

#cpu = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #cpu} {
  engine.dim @T "step" 1 to 512
  engine.dim @P "step" 1 to 64
  // CHECK: engine.program @step dims [@T] inputs [@x] outputs [@z]
  // CHECK: args [@x, @z, #engine.expr<"T">]
  // CHECK: engine.program @draft dims [@P] inputs [@y] outputs [@draft.y]
  // CHECK: args [@y, @draft.y, #engine.expr<"P">]
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x32xf32, "T"> {llm.output = "z"}) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x32xf32, "T"> -> tensor<?x32xf32, "T">
    return %0 : tensor<?x32xf32, "T">
  }
  func.func @draft(%x: tensor<?x32xf32, "P"> {llm.input = "y"}) -> (tensor<?x32xf32, "P"> {llm.output = "draft.y"}) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x32xf32, "P"> -> tensor<?x32xf32, "P">
    return %0 : tensor<?x32xf32, "P">
  }
}
