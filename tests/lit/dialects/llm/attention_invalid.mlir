// RUN: %ingot_opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %f: tensor<4xf32>) {
  // expected-error @+1 {{columns must be whole heads of an even size}}
  %0 = llm.rope %x, %p, %f head_dim 3 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %f: tensor<4xf32>) {
  // expected-error @+1 {{needs one frequency for each pair that rotates}}
  %0 = llm.rope %x, %p, %f head_dim 4 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %f: tensor<4xf32>) {
  // expected-error @+1 {{changes the shape}}
  %0 = llm.rope %x, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %f: tensor<4xf32>) {
  // expected-error @+1 {{needs 2 to 4 positions a row for its axes}}
  %0 = llm.rope %x, %p, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0] : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T * 5">, %f: tensor<4xf32>) {
  // expected-error @+1 {{needs 2 to 4 positions a row for its axes}}
  %0 = llm.rope %x, %p, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0] : tensor<?x8xf32, "T">, tensor<?xi32, "T * 5">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T * 3">, %f: tensor<4xf32>) {
  // expected-error @+1 {{needs an axis for each frequency, of which there are at most 128}}
  %0 = llm.rope %x, %p, %f head_dim 8 factor 1.0 axes [0, 1, 2] : tensor<?x8xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T * 2">, %f: tensor<4xf32>) {
  // expected-error @+1 {{has axes beyond the 2 of its positions}}
  %0 = llm.rope %x, %p, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0] : tensor<?x8xf32, "T">, tensor<?xi32, "T * 2">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T * 2">, %f: tensor<4xf32>) {
  // expected-error @+1 {{needs one position a row}}
  %0 = llm.rope %x, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T * 2">, tensor<4xf32> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x24xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %f: tensor<4xf32>) {
  // expected-error @+1 {{has axes and rotary positions only together}}
  %0 = llm.rope_append %x at %p, %f, %s, %b into %c factor 1.0 axes [0, 1, 0, 1]
      : tensor<?x24xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%k: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{keys must have 8 columns and values 8}}
  llm.kv_append %k, %k at %p, %s, %b into %c
      : tensor<?x4xf32, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4>
  return
}

// -----

func.func @f(%k: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %w: tensor<2xf32>) {
  // expected-error @+1 {{static scales need a cache of 8 bits}}
  llm.kv_append %k, %k at %p, %s, %b into %c static(%w : tensor<2xf32>)
      : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4>
  return
}

// -----

func.func @f(%x: tensor<?x24xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x i8, block = 4>, %f: tensor<4xf32>, %w: tensor<1xf32>) {
  // expected-error @+1 {{static scales are an f32 for the keys and one for the values}}
  %0 = llm.rope_append %x at %p, %f, %s, %b into %c static(%w : tensor<1xf32>) factor 1.0
      : tensor<?x24xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x i8, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %f: tensor<4xf32>) {
  // expected-error @+1 {{qkv must have the result's columns and 16 more}}
  %0 = llm.rope_append %x at %p, %f, %s, %b into %c factor 1.0
      : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x24xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %f: tensor<5xf32>) {
  // expected-error @+1 {{needs one frequency for each pair that rotates}}
  %0 = llm.rope_append %x at %p, %f, %s, %b into %c factor 1.0
      : tensor<?x24xf32, "T">, tensor<?xi32, "T">, tensor<5xf32>, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x12xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{query heads must be a multiple of the cache's heads}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 : tensor<?x12xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x12xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{result must have 8 columns}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{a window has 1 to 2147483647 positions}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 window 0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4, window = 8>) {
  // expected-error @+1 {{attends to more positions than '!llm.kv<1 x 8 x f32, block = 4, window = 8>' keeps}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 window 9 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4, window = 8> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%k: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4, latent>) {
  // expected-error @+1 {{a latent cache has no values of its own}}
  llm.kv_append %k, %k at %p, %s, %b into %c
      : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4, latent>
  return
}

// -----

func.func @f(%k: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 16 x f32, block = 4, values = 12, latent>) {
  // expected-error @+1 {{latents must have 12 columns and rotary keys 4}}
  llm.latent_append %k, %k at %p, %s, %b into %c
      : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 16 x f32, block = 4, values = 12, latent>
  return
}

// -----

func.func @f(%k: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 16 x f32, block = 4>) {
  // expected-error @+1 {{'!llm.kv<1 x 16 x f32, block = 4>' is not latent}}
  llm.latent_append %k, %k at %p, %s, %b into %c
      : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 16 x f32, block = 4>
  return
}

// -----

func.func @f(%x: tensor<?x24xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4, values = 4>, %f: tensor<4xf32>) {
  // expected-error @+1 {{needs values of as many columns as keys}}
  %0 = llm.rope_append %x at %p, %f, %s, %b into %c factor 1.0
      : tensor<?x24xf32, "T">, tensor<?xi32, "T">, tensor<4xf32>, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4, values = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%q: tensor<?x24xf32, "T">, %r: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 16 x f32, block = 4, values = 12, latent>) {
  // expected-error @+1 {{rotary must have 4 columns for each query head}}
  %y = llm.attention %q at %p, %s, %b over %c rotary(%r : tensor<?x4xf32, "T">) scale 1.0
      : tensor<?x24xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 16 x f32, block = 4, values = 12, latent> -> tensor<?x24xf32, "T">
  return
}

// -----

func.func @f(%q: tensor<?x16xf32, "T">, %r: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 16 x f32, block = 4>) {
  // expected-error @+1 {{takes a query in two parts over a latent cache, and without fp8}}
  %y = llm.attention %q at %p, %s, %b over %c rotary(%r : tensor<?x4xf32, "T">) scale 1.0
      : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 16 x f32, block = 4> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @f(%q: tensor<?x24xf32, "T">, %r: tensor<?x4xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 16 x f32, block = 4, values = 12, latent>) {
  // expected-error @+1 {{query must have 16 columns for each of the weights}}
  %y = llm.select_positions %q, %r at %p, %s, %b over %c scale 1.0
      : tensor<?x24xf32, "T">, tensor<?x4xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 16 x f32, block = 4, values = 12, latent> -> tensor<?x5xi32, "T">
  return
}

// -----

func.func @f(%q: tensor<?x16xf32, "T">, %l: tensor<?x4xi32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 16 x f32, block = 4>) {
  // expected-error @+1 {{needs a list of positions for each row of the query, without window}}
  %y = llm.attention %q at %p, %s, %b over %c selected(%l : tensor<?x4xi32, "T">) scale 1.0 window 4
      : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 16 x f32, block = 4> -> tensor<?x16xf32, "T">
  return
}

// -----

// expected-error @+1 {{a latent cache has one head, no window, and values within its keys}}
func.func @f(%c: !llm.kv<1 x 8 x f32, block = 4, values = 9, latent>) {
  return
}

// -----

// expected-error @+1 {{heads of values must have columns}}
func.func @f(%c: !llm.kv<1 x 8 x f32, block = 4, values = 0>) {
  return
}

// -----

// expected-error @+1 {{a window has 1 to 2147483647 positions, or 0: all}}
func.func @f(%c: !llm.kv<1 x 8 x f32, block = 4, window = -1>) {
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">, %r: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{reaches beyond no chunk}}
  %0 = llm.attention %x at %p, %s, %b over %c reaches(%r : tensor<?xi32, "T">) scale 1.0 window 4 chunked : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">, %r: tensor<?xi32, "S">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{needs a reach for each row of the query}}
  %0 = llm.attention %x at %p, %s, %b over %c reaches(%r : tensor<?xi32, "S">) scale 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{chunked needs a window}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 chunked : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>) {
  // expected-error @+1 {{softcap must be positive}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 softcap -1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x bf16, block = 4>) {
  // expected-error @+1 {{fp8 needs a cache of f8E4M3FN}}
  %0 = llm.attention %x at %p, %s, %b over %c scale 1.0 fp8 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">,
      !llm.kv<1 x 8 x bf16, block = 4> -> tensor<?x8xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %k: tensor<3xf32>) {
  // expected-error @+1 {{sinks must be one value for each query head}}
  %0 = llm.attention %x at %p, %s, %b over %c sinks(%k : tensor<3xf32>) scale 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
      tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %k: tensor<1x2xf32>) {
  // expected-error @+1 {{sinks must be one value for each query head}}
  %0 = llm.attention %x at %p, %s, %b over %c sinks(%k : tensor<1x2xf32>) scale 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
      tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @f(%x: tensor<?x16xf32, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">,
    %b: tensor<?x?xi32, "S">, %c: !llm.kv<1 x 8 x f32, block = 4>, %k: tensor<2xi8>) {
  // expected-error @+1 {{must be ranked tensor of 32-bit float or 16-bit float or bfloat16 type values}}
  %0 = llm.attention %x at %p, %s, %b over %c sinks(%k : tensor<2xi8>) scale 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
      tensor<?x?xi32, "S">, !llm.kv<1 x 8 x f32, block = 4> -> tensor<?x16xf32, "T">
  return
}

// -----

func.func @f(%l: tensor<?x64xf32, "L">, %p: tensor<?x8xi32, "L">, %i: tensor<?x4xi32, "L">,
    %v: tensor<?x4xf32, "L">, %m: tensor<?x2xi32, "L">, %c: !llm.state<tensor<64xi32>>) {
  // expected-error @+1 {{a parameter row has 16 words}}
  %0:4 = llm.sample %l, %p, %i, %v, %m, %c
      : (tensor<?x64xf32, "L">, tensor<?x8xi32, "L">, tensor<?x4xi32, "L">,
         tensor<?x4xf32, "L">, tensor<?x2xi32, "L">, !llm.state<tensor<64xi32>>)
      -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x20xi32, "L">, tensor<?x20xf32, "L">)
  return
}

// -----

func.func @f(%l: tensor<?x64xf32, "L">, %p: tensor<?x16xi32, "L">, %i: tensor<?x4xi32, "L">,
    %v: tensor<?x4xf32, "L">, %m: tensor<?x1xi32, "L">, %c: !llm.state<tensor<64xi32>>) {
  // expected-error @+1 {{the allow-mask needs one bit per token}}
  %0:4 = llm.sample %l, %p, %i, %v, %m, %c
      : (tensor<?x64xf32, "L">, tensor<?x16xi32, "L">, tensor<?x4xi32, "L">,
         tensor<?x4xf32, "L">, tensor<?x1xi32, "L">, !llm.state<tensor<64xi32>>)
      -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x20xi32, "L">, tensor<?x20xf32, "L">)
  return
}

// -----

func.func @f(%l: tensor<?x64xf32, "L">, %p: tensor<?x16xi32, "L">, %i: tensor<?x4xi32, "L">,
    %v: tensor<?x4xf32, "L">, %m: tensor<?x2xi32, "L">, %c: !llm.state<tensor<63xi32>>) {
  // expected-error @+1 {{counts must have one entry per token}}
  %0:4 = llm.sample %l, %p, %i, %v, %m, %c
      : (tensor<?x64xf32, "L">, tensor<?x16xi32, "L">, tensor<?x4xi32, "L">,
         tensor<?x4xf32, "L">, tensor<?x2xi32, "L">, !llm.state<tensor<63xi32>>)
      -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x20xi32, "L">, tensor<?x20xf32, "L">)
  return
}

// -----

func.func @f(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %c: !llm.kv<2 x 32 x bf16, block = 16>) {
  // expected-error @+1 {{adds in segments of positions, without groups}}
  %y = llm.attention %q at %p, %s, %b over %c scale 0.125 sums <columns x 1> : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 32 x bf16, block = 16> -> tensor<?x128xbf16, "T">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "T">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{query, keys, values, sequences and result must have the same rows}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "T">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "Q">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{query, keys, values, sequences and result must have the same rows}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "Q">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{query, keys, values, sequences and result must have the same rows}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "Q">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?x2xi32, "Q">) {
  // expected-error @+1 {{sequences and offsets must be lists}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?x2xi32, "Q"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{keys and values must be 0 heads of equal size}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 0 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{keys and values must be 5 heads of equal size}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 5 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x9xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{keys and values must be 2 heads of equal size}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x9xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x18xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{query heads must be a multiple of the 2 of keys}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x18xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{result must have 20 columns}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x24xbf16, "P">
  return
}

// -----

func.func @f(%q: tensor<?x24xbf16, "P">, %k: tensor<?x12xbf16, "P">, %v: tensor<?x10xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) {
  // expected-error @+1 {{adds in segments of positions, without groups}}
  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125 sums <columns x 1> : tensor<?x24xbf16, "P">, tensor<?x12xbf16, "P">, tensor<?x10xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x20xbf16, "P">
  return
}
