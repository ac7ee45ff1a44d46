// RUN: %ingot_opt %s --split-input-file --verify-diagnostics --ingot-choose-sums --ingot-select-kernels | FileCheck %s

// Caches of one window are a group with a block table of its own, that of all positions first.

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  // CHECK: engine.kv_group @global "global" block 16
  // CHECK: engine.kv_group @sliding.32 "sliding" block 16 window 32
  // CHECK: engine.buffer @block_table "input" {{.*}} group @global
  // CHECK: engine.buffer @block_table.sliding.32 "input" {{.*}} group @sliding.32
  // CHECK: engine.buffer @kv.0 "kv" {{.*}} group @sliding.32
  // CHECK: engine.buffer @kv.1 "kv" {{.*}} group @global
  // CHECK: engine.buffer @kv.2 "kv" {{.*}} group @sliding.32
  // CHECK: args [@q, @positions, @sequences, @block_table.sliding.32, @kv.0
  // CHECK: args [{{.*}}, @positions, @sequences, @block_table, @kv.1
  // CHECK: args [{{.*}}, @positions, @sequences, @block_table.sliding.32, @kv.2
  func.func @step(%q: tensor<?x64xf32, "T"> {llm.input = "q"}, %p: tensor<?xi32, "T"> {llm.input = "positions"},
      %s: tensor<?xi32, "T"> {llm.input = "sequences"}, %b: tensor<?x?xi32, "S"> {llm.input = "block_table"},
      %w: tensor<?x?xi32, "S"> {llm.input = "block_table.sliding.32"},
      %k0: !llm.kv<2 x 16 x f32, block = 16, window = 32> {llm.input = "kv.0"},
      %k1: !llm.kv<2 x 16 x f32, block = 16> {llm.input = "kv.1"},
      %k2: !llm.kv<1 x 16 x f32, block = 16, window = 32> {llm.input = "kv.2"})
      -> (tensor<?x64xf32, "T"> {llm.output = "y"}) {
    %0 = llm.attention %q at %p, %s, %w over %k0 scale 1.0 window 32 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 16 x f32, block = 16, window = 32> -> tensor<?x64xf32, "T">
    %1 = llm.attention %0 at %p, %s, %b over %k1 scale 1.0 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 16 x f32, block = 16> -> tensor<?x64xf32, "T">
    %2 = llm.attention %1 at %p, %s, %w over %k2 scale 1.0 window 32 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 16 x f32, block = 16, window = 32> -> tensor<?x64xf32, "T">
    return %2 : tensor<?x64xf32, "T">
  }
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  func.func @step(%q: tensor<?x64xf32, "T"> {llm.input = "q"}, %p: tensor<?xi32, "T"> {llm.input = "positions"},
      %s: tensor<?xi32, "T"> {llm.input = "sequences"}, %b: tensor<?x?xi32, "S"> {llm.input = "block_table"},
      %k0: !llm.kv<2 x 16 x f32, block = 16, window = 32> {llm.input = "kv.0"},
      %k1: !llm.kv<2 x 16 x f32, block = 16> {llm.input = "kv.1"}) -> (tensor<?x64xf32, "T"> {llm.output = "y"}) {
    // expected-error @+1 {{uses one block table for caches of @sliding.32 and @global}}
    %0 = llm.attention %q at %p, %s, %b over %k0 scale 1.0 window 32 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 16 x f32, block = 16, window = 32> -> tensor<?x64xf32, "T">
    %1 = llm.attention %0 at %p, %s, %b over %k1 scale 1.0 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 16 x f32, block = 16> -> tensor<?x64xf32, "T">
    return %1 : tensor<?x64xf32, "T">
  }
}

// -----

// Blocks of another size: the width of the group's table is a dim of its own.

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  engine.dim @B.sliding.32 "load" 1 to 128
  // CHECK: engine.kv_group @global "global" block 16
  // CHECK: engine.kv_group @sliding.32 "sliding" block 4 window 32
  // CHECK: engine.buffer @block_table "input" i32 [#engine.expr<"S">, #engine.expr<"B">]
  // CHECK: engine.buffer @block_table.sliding.32 "input" i32 [#engine.expr<"S">, #engine.expr<"B.sliding.32">]
  // CHECK: engine.program @step dims [@T, @S, @B, @B.sliding.32]
  // CHECK: @kv.0, @{{[^#]*}} #engine.expr<"B.sliding.32">, #engine.expr<"T">, #engine.expr<"S">]
  // CHECK: @kv.1, @{{[^#]*}} #engine.expr<"B">, #engine.expr<"T">, #engine.expr<"S">]
  func.func @step(%q: tensor<?x64xf32, "T"> {llm.input = "q"}, %p: tensor<?xi32, "T"> {llm.input = "positions"},
      %s: tensor<?xi32, "T"> {llm.input = "sequences"}, %b: tensor<?x?xi32, "S"> {llm.input = "block_table"},
      %w: tensor<?x?xi32, "S"> {llm.input = "block_table.sliding.32"},
      %k0: !llm.kv<2 x 16 x f32, block = 4, window = 32> {llm.input = "kv.0"},
      %k1: !llm.kv<2 x 16 x f32, block = 16> {llm.input = "kv.1"})
      -> (tensor<?x64xf32, "T"> {llm.output = "y"}) {
    %0 = llm.attention %q at %p, %s, %w over %k0 scale 1.0 window 32 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 16 x f32, block = 4, window = 32> -> tensor<?x64xf32, "T">
    %1 = llm.attention %0 at %p, %s, %b over %k1 scale 1.0 : tensor<?x64xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 16 x f32, block = 16> -> tensor<?x64xf32, "T">
    return %1 : tensor<?x64xf32, "T">
  }
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
module attributes {engine.target = #x86} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  // expected-error @+1 {{the width of the block table of @sliding.32, whose blocks are of another size, is no dim}}
  func.func @step(%k0: !llm.kv<2 x 16 x f32, block = 4, window = 32> {llm.input = "kv.0"},
      %k1: !llm.kv<2 x 16 x f32, block = 16> {llm.input = "kv.1"}) {
    return
  }
}

// -----

// Recurrent state too.

#cpu = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #cpu} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  // CHECK: engine.kv_group @recurrent "recurrent" block 16
  // CHECK: engine.buffer @block_table "input" {{.*}} group @recurrent
  // CHECK: engine.buffer @state.0 "kv" bf16 [#engine.expr<"2">, #engine.expr<"20">] bytes <"128"> group @recurrent
  // CHECK: args [@x, @positions, @offsets, @block_table, @state.0, @weight.w,
  func.func @step(%x: tensor<?x20xf32, "T"> {llm.input = "x"}, %p: tensor<?xi32, "T"> {llm.input = "positions"},
      %o: tensor<?xi32, "S + 1"> {llm.input = "offsets"}, %b: tensor<?x?xi32, "S"> {llm.input = "block_table"},
      %state: !llm.state<tensor<2x20xbf16>, block = 16> {llm.input = "state.0"})
      -> (tensor<?x20xf32, "T"> {llm.output = "y"}) {
    %w = llm.load_weight "w" : tensor<20x3xf32>
    %0 = llm.causal_conv %x at %p, %o, %b with %state by %w : tensor<?x20xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "S + 1">, tensor<?x?xi32, "S">, !llm.state<tensor<2x20xbf16>, block = 16>, tensor<20x3xf32> -> tensor<?x20xf32, "T">
    return %0 : tensor<?x20xf32, "T">
  }
}

// -----

// A latent cache has a group and a block table of its own beside others.

#cpu = #engine.target<"reference", backend = "reference", arch = "x86-64", preference = 0>
module attributes {engine.target = #cpu} {
  engine.dim @T "step" 1 to 512
  engine.dim @S "step" 1 to 64
  engine.dim @L "step" 1 to 64
  engine.dim @B "load" 1 to 32
  // CHECK: engine.kv_group @global "global" block 16
  // CHECK: engine.kv_group @latent "latent" block 16
  // CHECK: engine.buffer @block_table "input" {{.*}} group @global
  // CHECK: engine.buffer @block_table.latent "input" {{.*}} group @latent
  // CHECK: engine.buffer @kv.1 "kv" i8 [#engine.expr<"1536">] bytes <"1536"> group @latent
  func.func @step(%q: tensor<?x48xf32, "T"> {llm.input = "q"}, %p: tensor<?xi32, "T"> {llm.input = "positions"},
      %s: tensor<?xi32, "T"> {llm.input = "sequences"}, %b: tensor<?x?xi32, "S"> {llm.input = "block_table"},
      %l: tensor<?x?xi32, "S"> {llm.input = "block_table.latent"},
      %k0: !llm.kv<2 x 24 x f32, block = 16> {llm.input = "kv.0"},
      %k1: !llm.kv<1 x 24 x f32, block = 16, values = 16, latent> {llm.input = "kv.1"})
      -> (tensor<?x48xf32, "T"> {llm.output = "x"}, tensor<?x32xf32, "T"> {llm.output = "y"}) {
    %0 = llm.attention %q at %p, %s, %b over %k0 scale 1.0 : tensor<?x48xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 24 x f32, block = 16> -> tensor<?x48xf32, "T">
    %1 = llm.attention %q at %p, %s, %l over %k1 scale 1.0 : tensor<?x48xf32, "T">, tensor<?xi32, "T">,
        tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<1 x 24 x f32, block = 16, values = 16, latent> -> tensor<?x32xf32, "T">
    return %0, %1 : tensor<?x48xf32, "T">, tensor<?x32xf32, "T">
  }
}
