// RUN: %ingot_opt %s --ingot-schedule | FileCheck %s

module {
  // The gather moves to its user; the one that ends a wider value than it starts stays early.
  // CHECK-LABEL: func.func @step
  // CHECK: llm.norm
  // CHECK: llm.slice_columns
  // CHECK: llm.gather_rows
  // CHECK-NEXT: llm.norm
  func.func @step(%x: tensor<?x64xf32, "T">, %y: tensor<?x64xf32, "T">, %r: tensor<?xi32, "L">) -> (tensor<?x64xf32, "L">, tensor<?x8xf32, "T">) {
    %g = llm.gather_rows %y, %r : tensor<?x64xf32, "T">, tensor<?xi32, "L"> -> tensor<?x64xf32, "L">
    %n = llm.norm %x eps 1.0e-5 : tensor<?x64xf32, "T"> -> tensor<?x64xf32, "T">
    %s = llm.slice_columns %n from 0 : tensor<?x64xf32, "T"> -> tensor<?x8xf32, "T">
    %o = llm.norm %g eps 1.0e-5 : tensor<?x64xf32, "L"> -> tensor<?x64xf32, "L">
    return %o, %s : tensor<?x64xf32, "L">, tensor<?x8xf32, "T">
  }
}
