// RUN: not %ingot_opt %s --ingot-choose-sums --ingot-select-kernels 2>&1 | FileCheck %s

// A group that is no multiple of eight columns is declined by name.
#cuda = #engine.target<"sm_86", backend = "cuda", arch = "sm_86", preference = 86>
#int4 = #llm.encoding<"int4", group = 4, zero_points = false>
module attributes {engine.target = #cuda} {
  engine.dim @T "step" 1 to 512
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x16xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "w" : tensor<16x32xi4>
    %s = llm.load_weight "s" : tensor<16x8xbf16>
    // CHECK: INGOT-E4305: target 'sm_86' has no kernel for 'llm.matmul': groups must be multiples of 8 columns
    %0 = llm.matmul %x, %w scales(%s : tensor<16x8xbf16>) #int4 : tensor<?x32xf32, "T">, tensor<16x32xi4> -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
}
