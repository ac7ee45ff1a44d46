// RUN: %ingot_opt %s --split-input-file --ingot-choose-layouts --ingot-hoist-weights --ingot-choose-sums --ingot-select-kernels | FileCheck %s

// MXFP4: places in a codebook go to tensor cores, two columns side by side; the book stays as it is.
#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
#book = #llm.encoding<"codebook4", group = 32, zero_points = false>
module attributes {engine.target = #cuda} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // CHECK-LABEL: func.func @weights
  // CHECK-DAG: engine.weight @{{.*}} tensor<256x1024xi4, #engine.layout<[0, 16, 16], [1, 64, 16], [0, 1, 8], [1, 2, 4], [1, 16, 4], [1, 8, 2], [0, 8, 2], [1, 1, 2]>>
  // CHECK-DAG: engine.weight @{{.*}} tensor<256x32xbf16, #engine.layout<[0, 16, 16], [1, 1, 32], [0, 1, 8], [0, 8, 2]>>
  // CHECK-DAG: engine.weight @{{.*}} tensor<16xf32, #engine.layout<[0, 1, 16], [1, 1, 1]>>
  // CHECK: engine.kernel @MatmulGroup_0 from "MatmulGroup"
  // CHECK-SAME: maps [#engine.tensor_map<buffer = 1, rows = 16 x 8192, box = 8 x {{[0-9]+}}>, #engine.tensor_map<buffer = 2,
  // CHECK-NOT: MatmulSimple
  func.func @step(%x: tensor<?x1024xbf16, "T"> {llm.input = "x"}) -> (tensor<?x256xbf16, "T"> {llm.output = "y"}) {
    %w = llm.weight "w" from "f" at 0 : tensor<256x1024xi4>
    %s = llm.weight "s" from "f" at 0 : tensor<256x32xbf16>
    %z = llm.weight "z" from "f" at 0 : tensor<16xf32>
    %0 = llm.matmul %x, %w scales(%s : tensor<256x32xbf16>) zeros(%z : tensor<16xf32>) #book
        : tensor<?x1024xbf16, "T">, tensor<256x1024xi4> -> tensor<?x256xbf16, "T">
    return %0 : tensor<?x256xbf16, "T">
  }
}

// -----

// Q4_K: offsets lie as scales do, and come to a stage beside them.
#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
#affine = #llm.encoding<"affine4", group = 32, zero_points = false>
module attributes {engine.target = #cuda} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // CHECK-LABEL: func.func @weights
  // CHECK-COUNT-2: engine.weight @{{.*}} tensor<256x32xf32, #engine.layout<[0, 16, 16], [1, 1, 32], [0, 1, 8], [0, 8, 2]>>
  // CHECK: engine.kernel @MatmulTensor_0 from "MatmulTensor"
  // CHECK-SAME: #engine.tensor_map<buffer = 3, rows = 16 x 2048, box = 8 x 256>
  // CHECK-NOT: MatmulSimple
  func.func @step(%x: tensor<?x1024xbf16, "T"> {llm.input = "x"}) -> (tensor<?x256xbf16, "T"> {llm.output = "y"}) {
    %w = llm.weight "w" from "f" at 0 : tensor<256x1024xi4>
    %s = llm.weight "s" from "f" at 0 : tensor<256x32xf32>
    %z = llm.weight "z" from "f" at 0 : tensor<256x32xf32>
    %0 = llm.matmul %x, %w scales(%s : tensor<256x32xf32>) zeros(%z : tensor<256x32xf32>) #affine
        : tensor<?x1024xbf16, "T">, tensor<256x1024xi4> -> tensor<?x256xbf16, "T">
    return %0 : tensor<?x256xbf16, "T">
  }
}

// -----

// NVFP4: a group is what one instruction multiplies.
#cuda = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
#book = #llm.encoding<"codebook4", group = 16, zero_points = false>
module attributes {engine.target = #cuda} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 8
  engine.dim @B "load" 1 to 32
  // CHECK-LABEL: func.func @weights
  // CHECK: engine.kernel @MatmulTensor_0 from "MatmulTensor"
  // CHECK-NOT: MatmulSimple
  func.func @step(%x: tensor<?x1024xf16, "T"> {llm.input = "x"}) -> (tensor<?x256xf16, "T"> {llm.output = "y"}) {
    %w = llm.weight "w" from "f" at 0 : tensor<256x1024xi4>
    %s = llm.weight "s" from "f" at 0 : tensor<256x64xf16>
    %z = llm.weight "z" from "f" at 0 : tensor<16xf32>
    %0 = llm.matmul %x, %w scales(%s : tensor<256x64xf16>) zeros(%z : tensor<16xf32>) #book
        : tensor<?x1024xf16, "T">, tensor<256x1024xi4> -> tensor<?x256xf16, "T">
    return %0 : tensor<?x256xf16, "T">
  }
}
