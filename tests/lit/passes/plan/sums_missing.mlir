// RUN: not %ingot_opt %s --ingot-select-kernels 2>&1 | FileCheck %s

// What adds must have an order.
// CHECK: error: 'llm.norm' op INGOT-E4009: it adds, and has no order of sums
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  func.func @step(%x: tensor<?x32xf32, "T"> {llm.input = "x"}) -> (tensor<?x32xf32, "T"> {llm.output = "y"}) {
    %0 = llm.norm %x eps 1.0e-5 : tensor<?x32xf32, "T"> -> tensor<?x32xf32, "T">
    return %0 : tensor<?x32xf32, "T">
  }
}
