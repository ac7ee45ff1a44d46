// RUN: not %ingot_opt %s --ingot-choose-sums --ingot-select-kernels 2>&1 | FileCheck %s

// A group that is no multiple of eight columns is declined by name.
#x86 = #engine.target<"x86-64-v3", backend = "x86", arch = "x86-64", preference = 30, features = ["avx2"]>
#int4 = #llm.encoding<"int4", group = 4, zero_points = false>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x16xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "w" : tensor<16x32xi4>
    %s = llm.load_weight "s" : tensor<16x8xbf16>
    // CHECK: INGOT-E4201: target 'x86-64-v3' has no kernel for 'llm.matmul': groups must be multiples of 8 columns
    %0 = llm.matmul %x, %w scales(%s : tensor<16x8xbf16>) #int4 : tensor<?x32xf32, "T">, tensor<16x32xi4> -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
}
