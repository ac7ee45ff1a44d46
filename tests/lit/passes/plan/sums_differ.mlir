// RUN: not %ingot_opt %s --ingot-select-kernels 2>&1 | FileCheck %s

// A kernel that adds in another order than the operation has is refused.
// CHECK: error: 'llm.matmul' op INGOT-E4008: a kernel 'MatmulFloatColumns' adds in the order columns x 1, segment = 512, the operation has pairs x 2, segment = 512
#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
#panels = #engine.layout<[0, 16, 2], [1, 1, 64], [0, 1, 16]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  func.func @step(%x: tensor<?x64xf32, "T"> {llm.input = "x"}) -> (tensor<?x32xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "w" : tensor<32x64xf32, #panels>
    %y = llm.matmul %x, %w sums <pairs x 2, segment = 512> : tensor<?x64xf32, "T">, tensor<32x64xf32, #panels> -> tensor<?x32xf32, "T">
    return %y : tensor<?x32xf32, "T">
  }
}
