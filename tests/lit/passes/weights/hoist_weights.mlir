// RUN: %ingot_opt %s --split-input-file --ingot-hoist-weights | FileCheck %s

#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
#rows = #engine.layout<[0, 1, 8], [1, 1, 16]>
#column = #engine.layout<[0, 1, 8]>
module {
  // CHECK-LABEL: func.func @step
  // CHECK-NOT: llm.weight
  // CHECK: %[[W:.+]] = llm.load_weight "proj.weight" : tensor<8x16xi8
  // CHECK: %[[S:.+]] = llm.load_weight "proj.scales" : tensor<8x1xf32
  // CHECK: llm.matmul %arg0, %[[W]] scales(%[[S]]
  func.func @step(%x: tensor<?x16xf32, "T">) -> tensor<?x8xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<8x16xf32>
    %q, %s = llm.quantize %w <"int8", group = 0, zero_points = false> : (tensor<8x16xf32>) -> (tensor<8x16xi8>, tensor<8x1xf32>)
    %p = llm.pack %q : tensor<8x16xi8> -> tensor<8x16xi8, #rows>
    %ps = llm.pack %s : tensor<8x1xf32> -> tensor<8x1xf32, #column>
    %0 = llm.matmul %x, %p scales(%ps : tensor<8x1xf32, #column>) #int8 : tensor<?x16xf32, "T">, tensor<8x16xi8, #rows> -> tensor<?x8xf32, "T"> loc("proj")
    return %0 : tensor<?x8xf32, "T">
  }
  // The quantization is evaluated once for both results.
  // CHECK-LABEL: func.func @weights
  // CHECK: llm.weight "w"
  // CHECK: llm.quantize
  // CHECK-NOT: llm.quantize
  // CHECK-DAG: llm.store_weight "proj.weight" %{{.+}} format "int8"
  // CHECK-DAG: llm.store_weight "proj.scales" %{{.+}} format "f32"
}

// -----

#one = #engine.layout<[0, 1, 2]>
!kv = !llm.kv<1 x 8 x f32, block = 4>
module {
  // CHECK-LABEL: func.func @step
  // CHECK: %[[K:.+]] = llm.load_weight "attend.sinks" : tensor<2xf32
  // CHECK: llm.attention {{.*}} sinks(%[[K]] : tensor<2xf32
  func.func @step(%q: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %c: !kv) -> tensor<?x16xf32, "T"> {
    %k = llm.weight "k" from "f" at 0 : tensor<2xf32>
    %s = llm.pack %k : tensor<2xf32> -> tensor<2xf32, #one>
    %0 = llm.attention %q at %p, %t, %b over %c sinks(%s : tensor<2xf32, #one>) scale 0.5 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x16xf32, "T"> loc("attend")
    return %0 : tensor<?x16xf32, "T">
  }
}
