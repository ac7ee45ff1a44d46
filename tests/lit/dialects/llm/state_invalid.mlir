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
