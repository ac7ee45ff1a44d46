// RUN: %ingot_opt %s --split-input-file --ingot-fuse-rope-append --cse | FileCheck %s

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x f32, block = 16>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @one_pass
  // CHECK: %[[Q:.+]] = llm.rope_append %arg0 at
  // CHECK-NOT: llm.rope
  // CHECK-NOT: llm.kv_append
  // CHECK: llm.attention %[[Q]]
  func.func @one_pass(%qkv: tensor<?x32xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                      %b: tensor<?x?xi32, "S">, %kv: !kv) -> tensor<?x16xf32, "T"> {
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.slice_columns %qkv from 0 : tensor<?x32xf32, "T"> -> tensor<?x16xf32, "T">
    %k = llm.slice_columns %qkv from 16 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %v = llm.slice_columns %qkv from 24 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %q, %p, %f head_dim 8 factor 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %k, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    %0 = llm.attention %qr at %p, %t, %b over %kv scale 0.35 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x i8, block = 16>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @static_scales
  // CHECK: llm.rope_append %arg0 at {{.*}} static(%arg5 : tensor<2xf32>) factor
  func.func @static_scales(%qkv: tensor<?x32xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                           %b: tensor<?x?xi32, "S">, %kv: !kv, %w: tensor<2xf32>) -> tensor<?x16xf32, "T"> {
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.slice_columns %qkv from 0 : tensor<?x32xf32, "T"> -> tensor<?x16xf32, "T">
    %k = llm.slice_columns %qkv from 16 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %v = llm.slice_columns %qkv from 24 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %q, %p, %f head_dim 8 factor 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %k, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv static(%w : tensor<2xf32>) : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    return %qr : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x f32, block = 16>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @separate_values
  // CHECK: llm.kv_append
  func.func @separate_values(%k: tensor<?x8xf32, "T">, %v: tensor<?x8xf32, "T">, %p: tensor<?xi32, "T">,
                             %t: tensor<?xi32, "T">, %b: tensor<?x?xi32, "S">, %kv: !kv) {
    llm.kv_append %k, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    return
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied false because "k and v are not slices of one q|k|v value"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x f32, block = 16>
module attributes {engine.target = #x86} {
  // A norm stands between the slices and their rotation.
  // CHECK-LABEL: @normed
  // CHECK: llm.norm
  // CHECK: llm.rope
  // CHECK: llm.kv_append
  func.func @normed(%qkv: tensor<?x32xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                    %b: tensor<?x?xi32, "S">, %kv: !kv) -> tensor<?x16xf32, "T"> {
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.slice_columns %qkv from 0 : tensor<?x32xf32, "T"> -> tensor<?x16xf32, "T">
    %k = llm.slice_columns %qkv from 16 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %v = llm.slice_columns %qkv from 24 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %qn = llm.norm %q eps 1.0e-6 head_dim 8 : tensor<?x16xf32, "T"> -> tensor<?x16xf32, "T">
    %kn = llm.norm %k eps 1.0e-6 head_dim 8 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %qn, %p, %f head_dim 8 factor 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %kn, %p, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    %0 = llm.attention %qr at %p, %t, %b over %kv scale 0.35 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv -> tensor<?x16xf32, "T">
    return %0 : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied false because "k and v are not slices of one q|k|v value"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x f32, block = 16>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @axes
  // CHECK: llm.rope_append %arg0 at %arg1, {{.*}} rotary(%arg5 : tensor<?xi32, "T * 3">) factor 1.000000e+00 axes [0, 1, 2, 0]
  // CHECK-NOT: llm.rope
  func.func @axes(%qkv: tensor<?x32xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                  %b: tensor<?x?xi32, "S">, %kv: !kv, %m: tensor<?xi32, "T * 3">) -> tensor<?x16xf32, "T"> {
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.slice_columns %qkv from 0 : tensor<?x32xf32, "T"> -> tensor<?x16xf32, "T">
    %k = llm.slice_columns %qkv from 16 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %v = llm.slice_columns %qkv from 24 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %q, %m, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0] : tensor<?x16xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %k, %m, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0] : tensor<?x8xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    return %qr : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied true
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x f32, block = 16>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @other_axes
  // CHECK-NOT: llm.rope_append
  func.func @other_axes(%qkv: tensor<?x32xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                  %b: tensor<?x?xi32, "S">, %kv: !kv, %m: tensor<?xi32, "T * 3">) -> tensor<?x16xf32, "T"> {
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.slice_columns %qkv from 0 : tensor<?x32xf32, "T"> -> tensor<?x16xf32, "T">
    %k = llm.slice_columns %qkv from 16 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %v = llm.slice_columns %qkv from 24 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %q, %m, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0] : tensor<?x16xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %k, %m, %f head_dim 8 factor 1.0 axes [0, 1, 2, 1] : tensor<?x8xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    return %qr : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied false because "no q of the same rotation is a slice of the same value"
}

// -----

#x86 = #engine.target<"x86-64-v4", backend = "x86", arch = "x86-64", preference = 40, features = ["avx512f"]>
!kv = !llm.kv<1 x 8 x f32, block = 16>
module attributes {engine.target = #x86} {
  // CHECK-LABEL: @other_positions
  // CHECK-NOT: llm.rope_append
  func.func @other_positions(%qkv: tensor<?x32xf32, "T">, %p: tensor<?xi32, "T">, %t: tensor<?xi32, "T">,
                  %b: tensor<?x?xi32, "S">, %kv: !kv, %m: tensor<?xi32, "T">) -> tensor<?x16xf32, "T"> {
    %f = llm.literal "inv_freq" dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32> : tensor<4xf32>
    %q = llm.slice_columns %qkv from 0 : tensor<?x32xf32, "T"> -> tensor<?x16xf32, "T">
    %k = llm.slice_columns %qkv from 16 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %v = llm.slice_columns %qkv from 24 : tensor<?x32xf32, "T"> -> tensor<?x8xf32, "T">
    %qr = llm.rope %q, %m, %f head_dim 8 factor 1.0 : tensor<?x16xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x16xf32, "T">
    %kr = llm.rope %k, %m, %f head_dim 8 factor 1.0 : tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<4xf32> -> tensor<?x8xf32, "T">
    llm.kv_append %kr, %v at %p, %t, %b into %kv : tensor<?x8xf32, "T">, tensor<?x8xf32, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">, tensor<?x?xi32, "S">, !kv
    return %qr : tensor<?x16xf32, "T">
  }
  // CHECK: engine.note "ingot-fuse-rope-append" {{.*}} applied false because "k is rotated by other positions than it is kept at"
}
