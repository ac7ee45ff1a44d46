// RUN: %ingot_opt %s | %ingot_opt | FileCheck %s

// CHECK-LABEL: func.func @conv
// CHECK-SAME: !llm.state<tensor<3x8xbf16>, block = 16>
func.func @conv(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xbf16>, block = 16>, %w: tensor<8x4xf32>,
    %c: tensor<8xbf16>) -> (tensor<?x8xf32, "T">, tensor<?x8xf32, "T">) {
  // CHECK: llm.causal_conv %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} with %{{.*}} by %{{.*}} : {{.*}} -> tensor<?x8xf32, "T">
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>, block = 16>, tensor<8x4xf32> -> tensor<?x8xf32, "T">
  // CHECK: llm.causal_conv {{.*}} by %{{.*}} bias(%{{.*}} : tensor<8xbf16>) : {{.*}} -> tensor<?x8xf32, "T">
  %1 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xbf16>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>, block = 16>, tensor<8x4xf32> -> tensor<?x8xf32, "T">
  return %0, %1 : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">
}

// CHECK-LABEL: func.func @delta
func.func @delta(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) -> tensor<?x32xbf16, "T"> {
  // CHECK: llm.gated_delta_rule %{{.*}}, %{{.*}}, %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} with %{{.*}} decay %{{.*}}, %{{.*}} heads 2, 4 epsilon {{.*}} : {{.*}} -> tensor<?x32xbf16, "T">
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return %0 : tensor<?x32xbf16, "T">
}

// CHECK-LABEL: func.func @state_space
func.func @state_space(%x: tensor<?x64xf32, "T">, %t: tensor<?x4xbf16, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>,
    %w: tensor<4xf32>, %d: tensor<4xbf16>) -> tensor<?x32xbf16, "T"> {
  // CHECK: llm.state_space %{{.*}}, %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}} with %{{.*}} decay %{{.*}}, %{{.*}} skip %{{.*}} heads 2, 4 within {{.*}}, {{.*}} : {{.*}} -> tensor<?x32xbf16, "T">
  %0 = llm.state_space %x, %t at %p, %o, %b with %s decay %w, %d skip %d heads 2, 4 within 0.0, 1.0e+9 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return %0 : tensor<?x32xbf16, "T">
}
