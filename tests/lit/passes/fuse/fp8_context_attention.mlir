// RUN: %ingot_opt %s --split-input-file --ingot-fp8-context-attention | FileCheck %s

#sm_89 = #engine.target<"sm_89", backend = "cuda", arch = "sm_89", preference = 100>
!kv = !llm.kv<1 x 64 x f8E4M3FN, block = 16>
module attributes {engine.target = #sm_89, llm.fp8_attention} {
  // CHECK-LABEL: @applied
  // CHECK: llm.attention {{.*}} scale {{.*}} fp8 :
  func.func @applied(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                     %b: tensor<?x?xi32, "S">, %kv: !kv) -> tensor<?x128xbf16, "T"> {
    %0 = llm.attention %q at %p, %t, %b over %kv scale 0.125 : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x128xbf16, "T">
    return %0 : tensor<?x128xbf16, "T">
  }
  // CHECK: engine.note "ingot-fp8-context-attention" {{.*}} applied true
}

// -----

#sm_89 = #engine.target<"sm_89", backend = "cuda", arch = "sm_89", preference = 100>
!kv = !llm.kv<1 x 64 x bf16, block = 16>
module attributes {engine.target = #sm_89, llm.fp8_attention} {
  // CHECK-LABEL: @another_cache
  // CHECK-NOT: fp8 :
  func.func @another_cache(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">,
                           %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %kv: !kv)
      -> tensor<?x128xbf16, "T"> {
    %0 = llm.attention %q at %p, %t, %b over %kv scale 0.125 : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x128xbf16, "T">
    return %0 : tensor<?x128xbf16, "T">
  }
  // CHECK: engine.note {{.*}} applied false because "the cache is not of e4m3"
}

// -----

#sm_89 = #engine.target<"sm_89", backend = "cuda", arch = "sm_89", preference = 100>
!kv = !llm.kv<1 x 80 x f8E4M3FN, block = 16>
module attributes {engine.target = #sm_89, llm.fp8_attention} {
  // CHECK-LABEL: @another_head_size
  func.func @another_head_size(%q: tensor<?x80xbf16, "T">, %p: tensor<?xi32, "T">,
                               %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %kv: !kv)
      -> tensor<?x80xbf16, "T"> {
    %0 = llm.attention %q at %p, %t, %b over %kv scale 0.125 : tensor<?x80xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x80xbf16, "T">
    return %0 : tensor<?x80xbf16, "T">
  }
  // CHECK: engine.note {{.*}} applied false because "the head size is no multiple of 32 up to 128"
}

// -----

#sm_80 = #engine.target<"sm_80", backend = "cuda", arch = "sm_80", preference = 100>
!kv = !llm.kv<1 x 64 x f8E4M3FN, block = 16>
module attributes {engine.target = #sm_80, llm.fp8_attention} {
  // CHECK-LABEL: @older_architecture
  func.func @older_architecture(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">,
                                %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %kv: !kv)
      -> tensor<?x128xbf16, "T"> {
    %0 = llm.attention %q at %p, %t, %b over %kv scale 0.125 : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x128xbf16, "T">
    return %0 : tensor<?x128xbf16, "T">
  }
  // CHECK: engine.note {{.*}} applied false because "the architecture has no FP8 products of mma.sync"
}

// -----

#sm_89 = #engine.target<"sm_89", backend = "cuda", arch = "sm_89", preference = 100>
!kv = !llm.kv<1 x 64 x f8E4M3FN, block = 16>
module attributes {engine.target = #sm_89} {
  // CHECK-LABEL: @not_asked_for
  // CHECK-NOT: engine.note
  func.func @not_asked_for(%q: tensor<?x128xbf16, "T">, %p: tensor<?xi32, "T">,
                           %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %kv: !kv)
      -> tensor<?x128xbf16, "T"> {
    %0 = llm.attention %q at %p, %t, %b over %kv scale 0.125 : tensor<?x128xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x128xbf16, "T">
    return %0 : tensor<?x128xbf16, "T">
  }
}
