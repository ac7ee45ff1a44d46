// RUN: %ingot_opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @f(%t: tensor<?xi32, "T">, %w: tensor<9x8xf32>) {
  // expected-error @+1 {{result must be one row of the table per token}}
  %0 = llm.embed %t, %w : tensor<?xi32, "T">, tensor<9x8xf32> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%t: tensor<?xi32, "T">, %w: tensor<9x8xi8>, %s: tensor<9x1xf32>) {
  // expected-error @+1 {{scales go with an encoding and only with it}}
  %0 = llm.embed %t, %w scales(%s : tensor<9x1xf32>) : tensor<?xi32, "T">, tensor<9x8xi8> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{must have the same shape}}
  %0 = llm.norm %x eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %r: tensor<?x4xf32, "T">) {
  // expected-error @+1 {{must have the same shape}}
  %0 = llm.norm %x plus(%r : tensor<?x4xf32, "T">) eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %r: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{must have the same shape}}
  %0, %1 = llm.norm %x plus(%r : tensor<?x8xf32, "T">) eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T"> sum tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4xf32>) {
  // expected-error @+1 {{weight must have one factor per column}}
  %0 = llm.norm %x weight(%w : tensor<4xf32>) eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{columns must be whole heads}}
  %0 = llm.norm %x eps 1.0e-5 head_dim 3 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<6xf32>) {
  // expected-error @+1 {{weight must have one factor per column}}
  %0 = llm.norm %x weight(%w : tensor<6xf32>) eps 1.0e-5 head_dim 4 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{bias must have one value per column, as the weight has}}
  %0 = llm.norm %x weight(%w : tensor<8xf32>) bias(%b : tensor<4xf32>) eps 1.0e-5 head_dim 4 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %r: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{a norm of heads neither adds nor quantizes}}
  %0 = llm.norm %x plus(%r : tensor<?x8xf32, "T">) eps 1.0e-5 head_dim 4 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{scales go with an 8-bit result and only with it}}
  %0 = llm.norm %x eps 1.0e-5 store f32 : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{a store type goes with an 8-bit result and only with it}}
  %0 = llm.norm %x eps 1.0e-5 store f32 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x6xf32>) {
  // expected-error @+1 {{differ in their inner size}}
  %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<4x6xf32> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{result must have the input's rows}}
  %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<4x8xf32> -> tensor<?x4xf32, "L">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{weight has fewer rows than the result has columns}}
  %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<4x8xf32> -> tensor<?x5xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{a pair needs a positive offset and an epilogue}}
  %0 = llm.matmul %x, %w pair_offset 2 : tensor<?x8xf32, "T">, tensor<4x8xf32> -> tensor<?x2xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xi8, "T">, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{input scales go with an 8-bit input and only with it}}
  %0 = llm.matmul %x, %w : tensor<?x8xi8, "T">, tensor<4x8xi8> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xi8>, %s: tensor<4x1xf32>) {
  // expected-error @+1 {{scales go with an encoding and only with it}}
  %0 = llm.matmul %x, %w scales(%s : tensor<4x1xf32>) : tensor<?x8xf32, "T">, tensor<4x8xi8> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xi8, "T">, %w: tensor<4x8xf32>, %s: tensor<?xf32, "T">) {
  // expected-error @+1 {{an integer input needs an integer weight}}
  %0 = llm.matmul %x, %w input_scales(%s : tensor<?xf32, "T">)
      : tensor<?x8xi8, "T">, tensor<4x8xf32> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{does not fit result}}
  %0 = llm.matmul %x, %w with(%b : tensor<3xf32>)
      : tensor<?x8xf32, "T">, tensor<4x8xf32> -> tensor<?x4xf32, "T"> {
  ^bb0(%a: f32, %c: f32):
    llm.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{region must take 1 values}}
  %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<4x8xf32> -> tensor<?x4xf32, "T"> {
  ^bb0(%a: f32, %c: f32):
    llm.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{region must take 2 values}}
  %0 = llm.matmul %x, %w pair_offset 2 : tensor<?x8xf32, "T">, tensor<4x8xf32> -> tensor<?x2xf32, "T"> {
  ^bb0(%a: f32):
    llm.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{region arguments must be f32}}
  %0 = llm.pointwise %x : (tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
  ^bb0(%a: f64):
    %c = arith.constant 1.0 : f32
    llm.yield %c : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  %0 = llm.pointwise %x : (tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
  ^bb0(%a: f32):
    // expected-error @+1 {{is not allowed in a scalar region}}
    %c = math.sin %a : f32
    llm.yield %c : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{region must end in llm.yield}}
  %0 = llm.pointwise %x : (tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
  ^bb0(%a: f32):
    "test.end"(%a) : (f32) -> ()
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{region must take 1 values}}
  %0 = llm.pointwise %x : (tensor<?x8xf32, "T">) -> tensor<?x8xf32, "T"> {
  ^bb0:
    %c = arith.constant 1.0 : f32
    llm.yield %c : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{does not fit result}}
  %0 = llm.pointwise %x : (tensor<?x8xf32, "T">) -> tensor<?x4xf32, "T"> {
  ^bb0(%a: f32):
    llm.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{must have the same shape}}
  %0 = llm.round %x : tensor<?x8xf32, "T"> to tensor<?x4xbf16, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %k: tensor<2xf32>) {
  // expected-error @+1 {{a static scale is one f32}}
  %0, %1 = llm.quantize_activation %x static(%k : tensor<2xf32>) : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %k: tensor<1xf32>) {
  // expected-error @+1 {{a static scale needs an 8-bit result}}
  %0 = llm.norm %x static(%k : tensor<1xf32>) eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{needs one scale per row}}
  %0, %1 = llm.quantize_activation %x : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "L">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{must have the same shape}}
  %0, %1 = llm.quantize_activation %x : tensor<?x8xf32, "T"> -> tensor<?x4xi8, "T">, tensor<?xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{columns reach past the input}}
  %0 = llm.slice_columns %x from 6 : tensor<?x8xf32, "T"> -> tensor<?x4xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{result must have the input's rows}}
  %0 = llm.slice_columns %x from 0 : tensor<?x8xf32, "T"> -> tensor<?x4xf32, "L">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %r: tensor<?xi32, "L">) {
  // expected-error @+1 {{result must be one row of the input per index}}
  %0 = llm.gather_rows %x, %r : tensor<?x8xf32, "T">, tensor<?xi32, "L"> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "E * 4">) {
  // expected-error @+1 {{result must have a row for some rows of the input, as wide as these}}
  %0 = llm.join_rows %x : tensor<?x8xf32, "E * 4"> -> tensor<?x16xf32, "E">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "E * 4">) {
  // expected-error @+1 {{result must have a row for some rows of the input, as wide as these}}
  %0 = llm.join_rows %x : tensor<?x8xf32, "E * 4"> -> tensor<?x32xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "E">) {
  // expected-error @+1 {{result must have some rows for each of the input, as wide in all}}
  %0 = llm.split_rows %x : tensor<?x8xf32, "E"> -> tensor<?x8xf32, "E * 4">
  return
}

// -----

func.func @f(%x: tensor<?x8xbf16, "T">, %g: tensor<?x8xf32, "E">, %p: tensor<?xi32, "E">) {
  // expected-error @+1 {{needs one place for each row}}
  %0 = llm.place_rows %x, %g at %p : tensor<?x8xbf16, "T">, tensor<?x8xf32, "E">, tensor<?xi32, "E">
  return
}

// -----

func.func @f(%x: tensor<?x8xbf16, "T">, %g: tensor<?x8xf32, "E">, %p: tensor<?x1xi32, "T">) {
  // expected-error @+1 {{needs one place for each row}}
  %0 = llm.place_rows %x, %g at %p : tensor<?x8xbf16, "T">, tensor<?x8xf32, "E">, tensor<?x1xi32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xbf16, "T">, %g: tensor<?x7xf32, "E">, %p: tensor<?xi32, "T">) {
  // expected-error @+1 {{given rows must have 8 columns}}
  %0 = llm.place_rows %x, %g at %p : tensor<?x8xbf16, "T">, tensor<?x7xf32, "E">, tensor<?xi32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %k: tensor<7xi32>) {
  // expected-error @+1 {{needs one index for each column of the result}}
  %0 = llm.gather_columns %x, %k : tensor<?x8xf32, "T">, tensor<7xi32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %k: tensor<8xi32>) {
  // expected-error @+1 {{result must have the input's rows}}
  %0 = llm.gather_columns %x, %k : tensor<?x8xf32, "T">, tensor<8xi32> -> tensor<?x8xf32, "L">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{columns must be whole groups of equal size}}
  %0, %1 = llm.quantize_activation %x
      : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">, tensor<?x3xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  // expected-error @+1 {{only integers are scaled by groups}}
  %0, %1 = llm.quantize_activation %x
      : tensor<?x8xf32, "T"> -> tensor<?x8xf8E4M3FN, "T">, tensor<?x2xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">) {
  %scale = llm.literal "scale" dense<0.5> : tensor<1xf32> : tensor<1xf32>
  // expected-error @+1 {{groups have scales of their own}}
  %0, %1 = llm.norm %x static(%scale : tensor<1xf32>) eps 1.0e-5 store f32
      : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T"> scales tensor<?x2xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x12xi8, "T">, %xs: tensor<?x2xf32, "T">, %w: tensor<4x12xi4>,
             %s: tensor<4x3xf32>) {
  // expected-error @+1 {{groups of 6 columns of the input and of 4 of the weight do not fit each other}}
  %0 = llm.matmul %x, %w input_scales(%xs : tensor<?x2xf32, "T">) scales(%s : tensor<4x3xf32>)
      <"int4", group = 4, zero_points = false>
      : tensor<?x12xi8, "T">, tensor<4x12xi4> -> tensor<?x4xf32, "T">
  return
}

// -----

// expected-error @+1 {{"llm.stores" is no attribute of the dialect}}
module attributes {llm.stores = bf16} {}

// -----

// expected-error @+1 {{"llm.compute" is no attribute of the dialect, or of a type other than that of "int8-dynamic"}}
module attributes {llm.compute = "int8-dynamic"} {}

// -----

// expected-error @+1 {{products read activations of i8 or f8E4M3FN, not of 'bf16'}}
module attributes {llm.compute = #llm.compute<bf16>} {}

// -----

// expected-error @+1 {{groups of columns have scales of their own in i8, found at run time}}
module attributes {llm.compute = #llm.compute<i8, static_scales = true, group = 32>} {}
