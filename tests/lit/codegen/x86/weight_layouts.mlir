// RUN: %ingot_opt %s --ingot-choose-layouts | FileCheck %s

#x86 = #engine.target<"x86-64-v3", backend = "x86", arch = "x86-64", preference = 30, features = ["avx2"]>
#int8 = #llm.encoding<"int8", group = 0, zero_points = false>
#int4 = #llm.encoding<"int4", group = 32, zero_points = false>
module attributes {engine.target = #x86} {
  // int8 with integer input: four columns side by side in a row of a panel.
  // CHECK-LABEL: @integer
  // CHECK: llm.pack {{.*}}tensor<40x70xi8, #engine.layout<[0, 16, 3], [1, 4, 18], [0, 1, 16], [1, 1, 4]>>
  // CHECK: llm.pack {{.*}}tensor<40x1xf32, #engine.layout<[0, 16, 3], [1, 1, 1], [0, 1, 16]>>
  func.func @integer(%x: tensor<?x70xi8, "T">, %xs: tensor<?xf32, "T">) -> tensor<?x40xf32, "T"> {
    %w = llm.weight "w" from "f" at 0 : tensor<40x70xi8>
    %s = llm.weight "s" from "f" at 4096 : tensor<40x1xf32>
    %0 = llm.matmul %x, %w input_scales(%xs : tensor<?xf32, "T">) scales(%s : tensor<40x1xf32>) #int8 : tensor<?x70xi8, "T">, tensor<40x70xi8> -> tensor<?x40xf32, "T">
    return %0 : tensor<?x40xf32, "T">
  }

  // int4: eight columns, the low nibbles first; a row of scales for each group.
  // CHECK-LABEL: @nibbles
  // CHECK: llm.pack {{.*}}tensor<48x64xi4, #engine.layout<[0, 16, 3], [1, 8, 8], [0, 1, 16], [1, 1, 4], [1, 4, 2]>>
  // CHECK: llm.pack {{.*}}tensor<48x2xbf16, #engine.layout<[0, 16, 3], [1, 1, 2], [0, 1, 16]>>
  func.func @nibbles(%x: tensor<?x64xf32, "T">) -> tensor<?x48xf32, "T"> {
    %w = llm.weight "v" from "f" at 0 : tensor<48x64xi4>
    %s = llm.weight "u" from "f" at 4096 : tensor<48x2xbf16>
    %0 = llm.matmul %x, %w scales(%s : tensor<48x2xbf16>) #int4 : tensor<?x64xf32, "T">, tensor<48x64xi4> -> tensor<?x48xf32, "T">
    return %0 : tensor<?x48xf32, "T">
  }
}
