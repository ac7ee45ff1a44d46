// RUN: %ingot_opt %s --split-input-file --verify-diagnostics

func.func @one_weight_each(%l: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{needs one weight and one expert per row of its results}}
  %s, %e = llm.route %l : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 2">, tensor<?xi32, "T * 3">
  return
}

// -----

func.func @rows_of_another_dim(%l: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{results must have rows for each token}}
  %s, %e = llm.route %l : tensor<?x8xf32, "T"> -> tensor<?xf32, "S * 2">, tensor<?xi32, "S * 2">
  return
}

// -----

func.func @too_many_of_a_token(%l: tensor<?x2xf32, "T">) {
  // expected-error @+1 {{a token has more experts than there are}}
  %s, %e = llm.route %l : tensor<?x2xf32, "T"> -> tensor<?xf32, "T * 3">, tensor<?xi32, "T * 3">
  return
}

// -----

func.func @order_of_other_rows(%e: tensor<?xi32, "T * 2">) {
  // expected-error @+1 {{order must have the rows of experts}}
  %o, %g = llm.group_rows %e : tensor<?xi32, "T * 2"> -> tensor<?xi32, "T">, tensor<9xi32>
  return
}

// -----

func.func @no_expert(%e: tensor<?xi32, "T * 2">) {
  // expected-error @+1 {{starts must have an offset for each expert, and one more}}
  %o, %g = llm.group_rows %e : tensor<?xi32, "T * 2"> -> tensor<?xi32, "T * 2">, tensor<1xi32>
  return
}

// -----

func.func @a_weight_a_row(%x: tensor<?x32xf32, "T * 2">, %s: tensor<?xf32, "T">) {
  // expected-error @+1 {{needs one weight per row of the input}}
  %y = llm.combine %x, %s : tensor<?x32xf32, "T * 2">, tensor<?xf32, "T"> -> tensor<?x32xf32, "T">
  return
}

// -----

func.func @rows_that_do_not_divide(%x: tensor<?x32xf32, "T * 3">, %s: tensor<?xf32, "T * 3">) {
  // expected-error @+1 {{result must have a row for some rows of the input}}
  %y = llm.combine %x, %s : tensor<?x32xf32, "T * 3">, tensor<?xf32, "T * 3"> -> tensor<?x32xf32, "T * 2">
  return
}

// -----

func.func @columns(%x: tensor<?x32xf32, "T * 2">, %s: tensor<?xf32, "T * 2">) {
  // expected-error @+1 {{result must have a row for some rows of the input}}
  %y = llm.combine %x, %s : tensor<?x32xf32, "T * 2">, tensor<?xf32, "T * 2"> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @order_of_a_product(%x: tensor<?x64xf32, "T">, %w: tensor<256x64xf32>, %o: tensor<?xi32, "T">, %g: tensor<9xi32>) {
  // expected-error @+1 {{order must have the result's rows}}
  %y = llm.matmul %x, %w groups(%o, %g : tensor<?xi32, "T">, tensor<9xi32>) : tensor<?x64xf32, "T">, tensor<256x64xf32> -> tensor<?x32xf32, "T * 2">
  return
}

// -----

func.func @starts_of_a_product(%x: tensor<?x64xf32, "T">, %w: tensor<256x64xf32>, %o: tensor<?xi32, "T * 2">, %g: tensor<?xi32, "T">) {
  // expected-error @+1 {{starts must have an offset for each expert, and one more}}
  %y = llm.matmul %x, %w groups(%o, %g : tensor<?xi32, "T * 2">, tensor<?xi32, "T">) : tensor<?x64xf32, "T">, tensor<256x64xf32> -> tensor<?x32xf32, "T * 2">
  return
}

// -----

func.func @input_of_a_product(%x: tensor<?x64xf32, "T * 3">, %w: tensor<256x64xf32>, %o: tensor<?xi32, "T * 2">, %g: tensor<9xi32>) {
  // expected-error @+1 {{result must have rows for each row of the input}}
  %y = llm.matmul %x, %w groups(%o, %g : tensor<?xi32, "T * 2">, tensor<9xi32>) : tensor<?x64xf32, "T * 3">, tensor<256x64xf32> -> tensor<?x32xf32, "T * 2">
  return
}

// -----

func.func @rows_of_heads(%x: tensor<?x64xf32, "T * 3">, %w: tensor<64x64xf32>) {
  // expected-error @+1 {{result must have rows for each of the 2 heads}}
  %y = llm.matmul %x, %w heads 2 : tensor<?x64xf32, "T * 3">, tensor<64x64xf32> -> tensor<?x32xf32, "T * 3">
  return
}

// -----

func.func @weights_of_heads(%x: tensor<?x64xf32, "T * 2">, %w: tensor<64x64xf32>) {
  // expected-error @+1 {{weight must have a row for each head and column of the result}}
  %y = llm.matmul %x, %w heads 2 : tensor<?x64xf32, "T * 2">, tensor<64x64xf32> -> tensor<?x48xf32, "T * 2">
  return
}

// -----

func.func @padded_experts(%x: tensor<?x64xf32, "T">, %w: tensor<272x64xf32>, %o: tensor<?xi32, "T * 2">, %g: tensor<9xi32>) {
  // expected-error @+1 {{weight must have a row for each expert and column of the result}}
  %y = llm.matmul %x, %w groups(%o, %g : tensor<?xi32, "T * 2">, tensor<9xi32>) : tensor<?x64xf32, "T">, tensor<272x64xf32> -> tensor<?x32xf32, "T * 2">
  return
}

// -----

func.func @f(%l: tensor<?x8xf32, "T">, %b: tensor<4xf32>) {
  // expected-error @+1 {{bias must have one value per expert}}
  %s, %e = llm.route %l bias(%b : tensor<4xf32>) : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 2">, tensor<?xi32, "T * 2">
  return
}

// -----

func.func @f(%l: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{groups must be [count, kept, best]}}
  %s, %e = llm.route %l groups [3, 1, 1] : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 2">, tensor<?xi32, "T * 2">
  return
}

// -----

func.func @f(%l: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{a token has more experts than are in the groups that are kept}}
  %s, %e = llm.route %l groups [4, 1, 1] : tensor<?x8xf32, "T"> -> tensor<?xf32, "T * 3">, tensor<?xi32, "T * 3">
  return
}
