// RUN: %ingot_opt %s --split-input-file --ingot-choose-layouts --ingot-choose-sums | FileCheck %s

#amx = #engine.target<"x86-64-v4+vnni+bf16+amx", backend = "x86", arch = "x86-64", preference = 70, features = ["avx512f", "avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "amx-bf16"]>
module attributes {engine.target = #amx} {
  engine.dim @T "step" 1 to 512
  // CHECK-LABEL: func.func @bf16
  // CHECK: llm.matmul {{.*}}sums <halves x 32>
  func.func @bf16(%x: tensor<?x4096xbf16, "T">, %w: tensor<64x4096xbf16>) -> tensor<?x64xf32, "T"> {
    %y = llm.matmul %x, %w : tensor<?x4096xbf16, "T">, tensor<64x4096xbf16> -> tensor<?x64xf32, "T">
    return %y : tensor<?x64xf32, "T">
  }
  // CHECK-LABEL: func.func @floats
  // CHECK: llm.matmul {{.*}}sums <columns x 1, segment = 512>
  func.func @floats(%x: tensor<?x4096xf32, "T">, %w: tensor<64x4096xf32>) -> tensor<?x64xf32, "T"> {
    %y = llm.matmul %x, %w : tensor<?x4096xf32, "T">, tensor<64x4096xf32> -> tensor<?x64xf32, "T">
    return %y : tensor<?x64xf32, "T">
  }
  // CHECK-LABEL: func.func @bytes
  // CHECK: llm.matmul {{.*}}sums <integers x 32, group = 32>
  func.func @bytes(%x: tensor<?x128xi8, "T">, %s: tensor<?xf32, "T">, %w: tensor<64x128xi4>, %d: tensor<64x4xf32>) -> tensor<?x64xf32, "T"> {
    %y = llm.matmul %x, %w input_scales(%s : tensor<?xf32, "T">) scales(%d : tensor<64x4xf32>) <"int4", group = 32, zero_points = false> : tensor<?x128xi8, "T">, tensor<64x128xi4> -> tensor<?x64xf32, "T">
    return %y : tensor<?x64xf32, "T">
  }
  // CHECK-LABEL: func.func @norm
  // CHECK: llm.norm {{.*}}sums <products x 1, segment = 256>
  func.func @norm(%x: tensor<?x64xf32, "T">) -> tensor<?x64xf32, "T"> {
    %y = llm.norm %x eps 1.0e-5 : tensor<?x64xf32, "T"> -> tensor<?x64xf32, "T">
    return %y : tensor<?x64xf32, "T">
  }
  // CHECK-LABEL: func.func @combine
  // CHECK: llm.combine {{.*}}sums <products x 1>
  func.func @combine(%x: tensor<?x64xf32, "T * 2">) -> tensor<?x64xf32, "T"> {
    %y = llm.combine %x : tensor<?x64xf32, "T * 2"> -> tensor<?x64xf32, "T">
    return %y : tensor<?x64xf32, "T">
  }
  // CHECK-LABEL: func.func @attention
  // CHECK: llm.attention {{.*}}sums <halves x 32, segment = 256, parts = 2>
  func.func @attention(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">, %s: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %c: !llm.kv<2 x 32 x bf16, block = 16>) -> tensor<?x128xbf16, "T"> {
    %y = llm.attention %q at %p, %s, %b over %c scale 0.125 : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !llm.kv<2 x 32 x bf16, block = 16> -> tensor<?x128xbf16, "T">
    return %y : tensor<?x128xbf16, "T">
  }
  // CHECK-LABEL: func.func @encoder
  // CHECK: llm.encoder_attention {{.*}}sums <halves x 32, segment = 256, parts = 2>
  func.func @encoder(%q: tensor<?x64xbf16, "P">, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">) -> tensor<?x64xbf16, "P"> {
    %y = llm.encoder_attention %q, %q, %q of %s, %o kv_heads 2 scale 0.125 : tensor<?x64xbf16, "P">, tensor<?x64xbf16, "P">, tensor<?x64xbf16, "P">, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x64xbf16, "P">
    return %y : tensor<?x64xbf16, "P">
  }
  // What is settled stays.
  // CHECK-LABEL: func.func @settled
  // CHECK: llm.matmul {{.*}}sums <pairs x 2, segment = 256>
  func.func @settled(%x: tensor<?x4096xbf16, "T">, %w: tensor<64x4096xbf16>) -> tensor<?x64xf32, "T"> {
    %y = llm.matmul %x, %w sums <pairs x 2, segment = 256> : tensor<?x4096xbf16, "T">, tensor<64x4096xbf16> -> tensor<?x64xf32, "T">
    return %y : tensor<?x64xf32, "T">
  }
}

// -----

// Blocks of few tokens share k; as many segments as there are blocks then, for any number of tokens.
#hopper = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
module attributes {engine.target = #hopper} {
  engine.dim @T "step" 1 to 512
  // CHECK-LABEL: func.func @shared
  // CHECK: llm.matmul {{.*}}sums <warpgroup x 16, segment = {{[1-9][0-9]*}}>
  func.func @shared(%x: tensor<?x14336xbf16, "T">) -> tensor<?x4096xf32, "T"> {
    %w = llm.weight "w" from "model.safetensors" at 0 : tensor<4096x14336xbf16>
    %y = llm.matmul %x, %w : tensor<?x14336xbf16, "T">, tensor<4096x14336xbf16> -> tensor<?x4096xf32, "T">
    return %y : tensor<?x4096xf32, "T">
  }
  // There are tiles enough, so that nothing is shared.
  // CHECK-LABEL: func.func @whole
  // CHECK: llm.matmul {{.*}}sums <warpgroup x 16>
  func.func @whole(%x: tensor<?x4096xbf16, "T">) -> tensor<?x131072xf32, "T"> {
    %w = llm.weight "w" from "model.safetensors" at 0 : tensor<131072x4096xbf16>
    %y = llm.matmul %x, %w : tensor<?x4096xbf16, "T">, tensor<131072x4096xbf16> -> tensor<?x131072xf32, "T">
    return %y : tensor<?x131072xf32, "T">
  }
}

// -----

#hopper = #engine.target<"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90>
module attributes {engine.target = #hopper, engine.determinism = #engine.determinism<fast>} {
  engine.dim @T "step" 1 to 512
  // CHECK-LABEL: func.func @shared
  // CHECK: llm.matmul {{.*}}sums <warpgroup x 16, segment = -1>
  func.func @shared(%x: tensor<?x14336xbf16, "T">) -> tensor<?x4096xf32, "T"> {
    %w = llm.weight "w" from "model.safetensors" at 0 : tensor<4096x14336xbf16>
    %y = llm.matmul %x, %w : tensor<?x14336xbf16, "T">, tensor<4096x14336xbf16> -> tensor<?x4096xf32, "T">
    return %y : tensor<?x4096xf32, "T">
  }
}
