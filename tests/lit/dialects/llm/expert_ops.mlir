// RUN: %ingot_opt %s | %ingot_opt | FileCheck %s

// CHECK-LABEL: @mixture
func.func @mixture(%x: tensor<?x64xbf16, "T">, %l: tensor<?x8xf32, "T">, %w: tensor<256x64xbf16>) -> tensor<?x32xbf16, "T"> {
  // CHECK: %[[S:.+]], %[[E:.+]] = llm.route %arg1 normalize : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 2">, tensor<?xi32, "T * 2">
  %s, %e = llm.route %l normalize : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 2">, tensor<?xi32, "T * 2">
  // CHECK: llm.route %arg1 bias(%{{.+}} : tensor<8xf32>) sigmoid groups [4, 2, 2] normalize epsilon 9.99999968E-21 scale 2.500000e+00 :
  %b = llm.weight "b" from "f" at 0 : tensor<8xf32>
  %c, %d = llm.route %l bias(%b : tensor<8xf32>) sigmoid groups [4, 2, 2] normalize epsilon 1.0e-20 scale 2.5
      : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 3">, tensor<?xi32, "T * 3">
  // CHECK: llm.route %arg1 sigmoid : tensor<?x8xf32, "T"> -> tensor<?xf32, "T">, tensor<?xi32, "T">
  %u, %v = llm.route %l sigmoid : tensor<?x8xf32, "T"> -> tensor<?xf32, "T">, tensor<?xi32, "T">
  // CHECK: %[[O:.+]], %[[G:.+]] = llm.group_rows %[[E]] : tensor<?xi32, "T * 2"> -> tensor<?xi32, "T * 2">, tensor<9xi32>
  %o, %g = llm.group_rows %e : tensor<?xi32, "T * 2"> -> tensor<?xi32, "T * 2">, tensor<9xi32>
  // CHECK: %[[P:.+]] = llm.matmul %arg0, %arg2 groups(%[[O]], %[[G]] : tensor<?xi32, "T * 2">, tensor<9xi32>) : tensor<?x64xbf16, "T">, tensor<256x64xbf16> -> tensor<?x32xbf16, "T * 2">
  %p = llm.matmul %x, %w groups(%o, %g : tensor<?xi32, "T * 2">, tensor<9xi32>) : tensor<?x64xbf16, "T">, tensor<256x64xbf16> -> tensor<?x32xbf16, "T * 2">
  // CHECK: llm.combine %[[P]], %[[S]] : tensor<?x32xbf16, "T * 2">, tensor<?xf32, "T * 2"> -> tensor<?x32xbf16, "T">
  %y = llm.combine %p, %s : tensor<?x32xbf16, "T * 2">, tensor<?xf32, "T * 2"> -> tensor<?x32xbf16, "T">
  // CHECK: llm.combine %[[P]] : tensor<?x32xbf16, "T * 2"> -> tensor<?x32xbf16, "T">
  %z = llm.combine %p : tensor<?x32xbf16, "T * 2"> -> tensor<?x32xbf16, "T">
  return %y : tensor<?x32xbf16, "T">
}

// Rows of heads take turns.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<?x256xbf16, "T">, %w: tensor<128x64xbf16>) -> tensor<?x128xbf16, "T"> {
  // CHECK: %[[S:.+]] = llm.split_rows %arg0 : tensor<?x256xbf16, "T"> -> tensor<?x64xbf16, "T * 4">
  %s = llm.split_rows %x : tensor<?x256xbf16, "T"> -> tensor<?x64xbf16, "T * 4">
  // CHECK: llm.matmul %[[S]], %arg1 heads 4 : tensor<?x64xbf16, "T * 4">, tensor<128x64xbf16> -> tensor<?x32xbf16, "T * 4">
  %p = llm.matmul %s, %w heads 4 : tensor<?x64xbf16, "T * 4">, tensor<128x64xbf16> -> tensor<?x32xbf16, "T * 4">
  %y = llm.join_rows %p : tensor<?x32xbf16, "T * 4"> -> tensor<?x128xbf16, "T">
  return %y : tensor<?x128xbf16, "T">
}
