// RUN: %ingot_opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xbf16>>, %w: tensor<8x4xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{needs recurrent state, not '!llm.state<tensor<3x8xbf16>>'}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>>, tensor<8x4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xbf16>, block = 16>, %w: tensor<8x1xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{the weight must have 8 rows and 2 to 64 columns}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>, block = 16>, tensor<8x1xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xbf16>, block = 16>, %w: tensor<7x4xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{the weight must have 8 rows and 2 to 64 columns}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>, block = 16>, tensor<7x4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xi32>, block = 16>, %w: tensor<8x4xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{rows of the state must be floats [3, 8]}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xi32>, block = 16>, tensor<8x4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<4x8xbf16>, block = 16>, %w: tensor<8x4xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{rows of the state must be floats [3, 8]}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<4x8xbf16>, block = 16>, tensor<8x4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xbf16>, block = 16>, %w: tensor<8x4xf32>, %c: tensor<7xf32>) {
  // expected-error @+1 {{the bias must have 8 numbers}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<7xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>, block = 16>, tensor<8x4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %o: tensor<?xi32, "S + 1">,
    %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3x8xbf16>, block = 16>, %w: tensor<8x4xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{changes the shape}}
  %0 = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : tensor<8xf32>) : tensor<?x8xf32, "T">, tensor<?xi32, "T">,
      tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<3x8xbf16>, block = 16>, tensor<8x4xf32> -> tensor<?x9xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{needs recurrent state, not '!llm.state<tensor<1088xf32>>'}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<3636xf32>, block = 65>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{blocks of the state must have at most 64 positions, not 65}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<3636xf32>, block = 65>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{the key heads must divide the value heads}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 3, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{the key heads must divide the value heads}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 0, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{the input must be q and k of 2 heads and v of 4, which the result is like}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x30xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{the input must be q and k of 2 heads and v of 4, which the result is like}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x64xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{the input must be q and k of 4 heads and v of 4, which the result is like}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 4, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x36xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{decay and gate must have 2 columns}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 2 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>, %w: tensor<5xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{the weights of the decay must have 4 numbers}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<5xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1087xf32>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{rows of the state must be floats [1088] in f32}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1087xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %a: tensor<?x4xbf16, "T">, %g: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xbf16>, block = 16>, %w: tensor<4xf32>,
    %d: tensor<4xbf16>) {
  // expected-error @+1 {{rows of the state must be floats [1088] in f32}}
  %0 = llm.gated_delta_rule %x, %a, %g at %p, %o, %b with %s decay %w, %d heads 2, 4 epsilon 1.0e-6 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xbf16>, block = 16>, tensor<4xf32>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %t: tensor<?x4xbf16, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>,
    %w: tensor<4xf32>, %d: tensor<4xbf16>) {
  // expected-error @+1 {{the least step must not be above the most}}
  %0 = llm.state_space %x, %t at %p, %o, %b with %s decay %w, %d skip %d heads 2, 4 within 2.0, 1.0 : tensor<?x64xf32, "T">,
      tensor<?x4xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x64xf32, "T">, %t: tensor<?x3xbf16, "T">, %p: tensor<?xi32, "T">,
    %o: tensor<?xi32, "S + 1">, %b: tensor<?x?xi32, "S">, %s: !llm.state<tensor<1088xf32>, block = 16>,
    %w: tensor<4xf32>, %d: tensor<4xbf16>) {
  // expected-error @+1 {{decay and gate must have 4 columns}}
  %0 = llm.state_space %x, %t at %p, %o, %b with %s decay %w, %d skip %d heads 2, 4 within 0.0, 1.0 : tensor<?x64xf32, "T">,
      tensor<?x3xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">,
      !llm.state<tensor<1088xf32>, block = 16>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16> -> tensor<?x32xbf16, "T">
  return
}
