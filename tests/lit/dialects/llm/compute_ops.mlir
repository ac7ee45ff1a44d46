// RUN: %ingot_opt %s | %ingot_opt | FileCheck %s

// CHECK-LABEL: func.func @embed
func.func @embed(%tokens: tensor<?xi32, "T">, %table: tensor<9x8xbf16>, %packed: tensor<9x8xi8>,
    %scales: tensor<9x1xf32>) {
  // CHECK: llm.embed %{{.*}}, %{{.*}} : tensor<?xi32, "T">, tensor<9x8xbf16> -> tensor<?x8xf32, "T">
  %0 = llm.embed %tokens, %table : tensor<?xi32, "T">, tensor<9x8xbf16> -> tensor<?x8xf32, "T">
  // CHECK: llm.embed %{{.*}}, %{{.*}} scales(%{{.*}} : tensor<9x1xf32>) <"int8", group = 0, zero_points = false>
  %1 = llm.embed %tokens, %packed scales(%scales : tensor<9x1xf32>)
      <"int8", group = 0, zero_points = false>
      : tensor<?xi32, "T">, tensor<9x8xi8> -> tensor<?x8xf32, "T">
  return
}

// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<?x8xf32, "T">, %r: tensor<?x8xf32, "T">, %w: tensor<8xf32>) {
  // CHECK: llm.norm %{{.*}} eps 9.99999974E-6 : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T">
  %0 = llm.norm %x eps 1.0e-5 : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T">
  // CHECK: llm.norm %{{.*}} plus(%{{.*}} : tensor<?x8xf32, "T">) weight(%{{.*}} : tensor<8xf32>) eps {{.*}} store bf16 : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T"> scales tensor<?xf32, "T"> sum tensor<?x8xf32, "T">
  %1, %2, %3 = llm.norm %x plus(%r : tensor<?x8xf32, "T">) weight(%w : tensor<8xf32>)
      eps 1.0e-5 store bf16 : tensor<?x8xf32, "T">
      -> tensor<?x8xi8, "T"> scales tensor<?xf32, "T"> sum tensor<?x8xf32, "T">
  return
}

// CHECK-LABEL: func.func @norm_of_heads
func.func @norm_of_heads(%x: tensor<?x8xf32, "T">, %w: tensor<4xf32>) {
  // CHECK: llm.norm %{{.*}} weight(%{{.*}} : tensor<4xf32>) eps {{.*}} head_dim 4 : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  %0 = llm.norm %x weight(%w : tensor<4xf32>) eps 1.0e-5 head_dim 4
      : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<?x8xf32, "T">, %r: tensor<?x8xf32, "T">, %w: tensor<8xf32>,
    %b: tensor<8xbf16>) {
  // CHECK: llm.norm %{{.*}} plus(%{{.*}} : tensor<?x8xf32, "T">) centered weight(%{{.*}} : tensor<8xf32>) bias(%{{.*}} : tensor<8xbf16>) eps 9.99999974E-6 : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T"> sum tensor<?x8xf32, "T">
  %0, %1 = llm.norm %x plus(%r : tensor<?x8xf32, "T">) centered weight(%w : tensor<8xf32>)
      bias(%b : tensor<8xbf16>) eps 1.0e-5
      : tensor<?x8xf32, "T"> -> tensor<?x8xbf16, "T"> sum tensor<?x8xf32, "T">
  // Each head has factors of its own.
  // CHECK: llm.norm %{{.*}} centered weight(%{{.*}} : tensor<8xf32>) eps {{.*}} head_dim 4
  %2 = llm.norm %x centered weight(%w : tensor<8xf32>) eps 1.0e-5 head_dim 4
      : tensor<?x8xf32, "T"> -> tensor<?x8xf32, "T">
  return
}

// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<?x8xf32, "T">, %w: tensor<6x8xbf16>, %bias: tensor<6xf32>,
    %residual: tensor<?x6xf32, "T">) {
  // CHECK: llm.matmul %{{.*}}, %{{.*}} : tensor<?x8xf32, "T">, tensor<6x8xbf16> -> tensor<?x6xf32, "T">{{$}}
  %0 = llm.matmul %x, %w : tensor<?x8xf32, "T">, tensor<6x8xbf16> -> tensor<?x6xf32, "T">
  // CHECK: llm.matmul {{.*}} with(%{{.*}}, %{{.*}} : tensor<6xf32>, tensor<?x6xf32, "T">) : {{.*}} {
  %1 = llm.matmul %x, %w with(%bias, %residual : tensor<6xf32>, tensor<?x6xf32, "T">)
      : tensor<?x8xf32, "T">, tensor<6x8xbf16> -> tensor<?x6xf32, "T"> {
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[RESIDUAL:.*]]: f32):
  ^bb0(%sum: f32, %b: f32, %r: f32):
    // CHECK-NEXT: %[[BIASED:.*]] = arith.addf %[[SUM]], %[[BIAS]] : f32
    %2 = arith.addf %sum, %b : f32
    // CHECK-NEXT: %[[ADDED:.*]] = arith.addf %[[BIASED]], %[[RESIDUAL]] : f32
    %3 = arith.addf %2, %r : f32
    // CHECK-NEXT: llm.yield %[[ADDED]] : f32
    llm.yield %3 : f32
  }
  // CHECK: llm.matmul {{.*}} pair_offset 1 : {{.*}} -> tensor<?x3xf32, "T"> {
  %4 = llm.matmul %x, %w pair_offset 1
      : tensor<?x8xf32, "T">, tensor<6x8xbf16> -> tensor<?x3xf32, "T"> {
  ^bb0(%gate: f32, %up: f32):
    %5 = arith.mulf %gate, %up : f32
    llm.yield %5 : f32
  }
  return
}

// CHECK-LABEL: func.func @quantized_matmul
func.func @quantized_matmul(%x: tensor<?x8xi8, "T">, %xs: tensor<?xf32, "T">, %w: tensor<6x8xi4>,
    %s: tensor<6x2xbf16>, %z: tensor<6x2xi8>) {
  // CHECK: llm.matmul %{{.*}}, %{{.*}} input_scales(%{{.*}} : tensor<?xf32, "T">) scales(%{{.*}} : tensor<6x2xbf16>) zeros(%{{.*}} : tensor<6x2xi8>) <"int4", group = 4, zero_points = true> : tensor<?x8xi8, "T">, tensor<6x8xi4> -> tensor<?x6xf32, "T">
  %0 = llm.matmul %x, %w input_scales(%xs : tensor<?xf32, "T">) scales(%s : tensor<6x2xbf16>)
      zeros(%z : tensor<6x2xi8>) <"int4", group = 4, zero_points = true>
      : tensor<?x8xi8, "T">, tensor<6x8xi4> -> tensor<?x6xf32, "T">
  return
}

// CHECK-LABEL: func.func @input_groups
func.func @input_groups(%x: tensor<?x8xf32, "T">, %w: tensor<6x8xi8>, %s: tensor<6x1xf32>) {
  // CHECK: llm.quantize_activation %{{.*}} : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">, tensor<?x4xf32, "T">
  %q, %qs = llm.quantize_activation %x
      : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T">, tensor<?x4xf32, "T">
  // CHECK: llm.norm %{{.*}} eps {{.*}} store f32 : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T"> scales tensor<?x2xf32, "T">
  %n, %ns = llm.norm %x eps 1.0e-5 store f32
      : tensor<?x8xf32, "T"> -> tensor<?x8xi8, "T"> scales tensor<?x2xf32, "T">
  // CHECK: llm.matmul %{{.*}}, %{{.*}} input_scales(%{{.*}} : tensor<?x4xf32, "T">)
  %0 = llm.matmul %q, %w input_scales(%qs : tensor<?x4xf32, "T">) scales(%s : tensor<6x1xf32>)
      <"int8", group = 0, zero_points = false>
      : tensor<?x8xi8, "T">, tensor<6x8xi8> -> tensor<?x6xf32, "T">
  return
}

// CHECK-LABEL: func.func @rows_and_columns
func.func @rows_and_columns(%x: tensor<?x8xf32, "T">, %row: tensor<?x1xf32, "T">,
    %rows: tensor<?xi32, "L">, %places: tensor<?xi32, "T">, %four: tensor<?x8xf32, "E * 4">) {
  // CHECK: llm.join_rows %{{.*}} : tensor<?x8xf32, "E * 4"> -> tensor<?x32xf32, "E">
  %joined = llm.join_rows %four : tensor<?x8xf32, "E * 4"> -> tensor<?x32xf32, "E">
  // CHECK: llm.pointwise %{{.*}}, %{{.*}} : (tensor<?x8xf32, "T">, tensor<?x1xf32, "T">) -> tensor<?x8xf32, "T"> {
  %0 = llm.pointwise %x, %row
      : (tensor<?x8xf32, "T">, tensor<?x1xf32, "T">) -> tensor<?x8xf32, "T"> {
  ^bb0(%a: f32, %b: f32):
    %1 = math.tanh %a : f32
    %2 = arith.mulf %1, %b : f32
    llm.yield %2 : f32
  }
  // CHECK: llm.round %{{.*}} : tensor<?x8xf32, "T"> to tensor<?x8xbf16, "T">
  %3 = llm.round %0 : tensor<?x8xf32, "T"> to tensor<?x8xbf16, "T">
  // CHECK: llm.quantize_activation %{{.*}} : tensor<?x8xbf16, "T"> -> tensor<?x8xf8E4M3FN, "T">, tensor<?xf32, "T">
  %4, %5 = llm.quantize_activation %3
      : tensor<?x8xbf16, "T"> -> tensor<?x8xf8E4M3FN, "T">, tensor<?xf32, "T">
  %scale = llm.literal "scale" dense<0.5> : tensor<1xf32> : tensor<1xf32>
  // CHECK: llm.quantize_activation %{{.*}} static(%{{.*}} : tensor<1xf32>) : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
  %s0, %s1 = llm.quantize_activation %3 static(%scale : tensor<1xf32>)
      : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T">, tensor<?xf32, "T">
  // CHECK: llm.norm %{{.*}} static(%{{.*}} : tensor<1xf32>) eps {{.*}} store bf16 : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T"> scales tensor<?xf32, "T">
  %n0, %n1 = llm.norm %3 static(%scale : tensor<1xf32>) eps 1.0e-5 store bf16
      : tensor<?x8xbf16, "T"> -> tensor<?x8xi8, "T"> scales tensor<?xf32, "T">
  // CHECK: llm.slice_columns %{{.*}} from 4 : tensor<?x8xf32, "T"> -> tensor<?x4xf32, "T">
  %6 = llm.slice_columns %0 from 4 : tensor<?x8xf32, "T"> -> tensor<?x4xf32, "T">
  // CHECK: llm.boundary %{{.*}} ends "layers.0" : tensor<?x4xf32, "T">
  %7 = llm.boundary %6 ends "layers.0" : tensor<?x4xf32, "T">
  // CHECK: llm.gather_rows %{{.*}}, %{{.*}} : tensor<?x4xf32, "T">, tensor<?xi32, "L"> -> tensor<?x4xf32, "L">
  %8 = llm.gather_rows %7, %rows
      : tensor<?x4xf32, "T">, tensor<?xi32, "L"> -> tensor<?x4xf32, "L">
  // CHECK: llm.place_rows %{{.*}}, %{{.*}} at %{{.*}} : tensor<?x4xf32, "T">, tensor<?x4xf32, "L">, tensor<?xi32, "T">
  %placed = llm.place_rows %7, %8 at %places
      : tensor<?x4xf32, "T">, tensor<?x4xf32, "L">, tensor<?xi32, "T">
  // CHECK: llm.place_rows %{{.*}}, %{{.*}} at %{{.*}} added : tensor<?x4xf32, "T">, tensor<?x4xf32, "L">, tensor<?xi32, "T">
  %added = llm.place_rows %7, %8 at %places added
      : tensor<?x4xf32, "T">, tensor<?x4xf32, "L">, tensor<?xi32, "T">
  %order = llm.literal "order" dense<[3, 0, 2, 1]> : tensor<4xi32> : tensor<4xi32>
  // CHECK: llm.gather_columns %{{.*}}, %{{.*}} : tensor<?x4xf32, "T">, tensor<4xi32> -> tensor<?x4xf32, "T">
  %9 = llm.gather_columns %7, %order
      : tensor<?x4xf32, "T">, tensor<4xi32> -> tensor<?x4xf32, "T">
  return
}
