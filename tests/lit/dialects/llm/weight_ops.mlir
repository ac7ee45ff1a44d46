// RUN: %ingot_opt %s | %ingot_opt | FileCheck %s

// CHECK-LABEL: func.func @expressions
func.func @expressions() {
  // CHECK: %[[A:.*]] = llm.weight "a" from "model.safetensors" at 4096 : tensor<6x8xbf16>
  %a = llm.weight "a" from "model.safetensors" at 4096 : tensor<6x8xbf16>
  // CHECK: llm.literal "rope.inv_freq" dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
  %f = llm.literal "rope.inv_freq" dense<[1.0, 0.5]> : tensor<2xf32> : tensor<2xf32>
  // CHECK: %[[B:.*]] = llm.convert %[[A]] : tensor<6x8xbf16> to tensor<6x8xf32>
  %b = llm.convert %a : tensor<6x8xbf16> to tensor<6x8xf32>
  // CHECK: llm.convert %[[A]] plus 1.000000e+00 : tensor<6x8xbf16> to tensor<6x8xf32>
  %shifted = llm.convert %a plus 1.0 : tensor<6x8xbf16> to tensor<6x8xf32>
  // CHECK: llm.reshape %[[A]] : tensor<6x8xbf16> -> tensor<4x12xbf16>
  %reshaped = llm.reshape %a : tensor<6x8xbf16> -> tensor<4x12xbf16>
  // CHECK: llm.slice_rows %[[A]] from 2 : tensor<6x8xbf16> -> tensor<4x8xbf16>
  %sliced = llm.slice_rows %a from 2 : tensor<6x8xbf16> -> tensor<4x8xbf16>
  %left = llm.weight "left" from "model.safetensors" at 0 : tensor<6x2xf32>
  %right = llm.weight "right" from "model.safetensors" at 48 : tensor<2x8xf32>
  // CHECK: llm.add_low_rank %[[A]], %{{.*}}, %{{.*}} scale 2.000000e+00 : (tensor<6x8xbf16>, tensor<6x2xf32>, tensor<2x8xf32>) -> tensor<6x8xbf16>
  %merged = llm.add_low_rank %a, %left, %right scale 2.0 : (tensor<6x8xbf16>, tensor<6x2xf32>, tensor<2x8xf32>) -> tensor<6x8xbf16>
  // CHECK: %[[N:.*]] = llm.weight "norm"
  %n = llm.weight "norm" from "model.safetensors" at 0 : tensor<8xf32>
  // CHECK: %[[S:.*]] = llm.scale_columns %[[B]], %[[N]] : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %s = llm.scale_columns %b, %n : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  // CHECK: %[[C:.*]] = llm.concat_rows %[[B]], %[[S]] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<12x8xf32>
  %c = llm.concat_rows %b, %s : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<12x8xf32>
  // CHECK: %[[I:.*]] = llm.interleave_rows %[[B]], %[[S]] block 4 : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
  %i = llm.interleave_rows %b, %s block 4
      : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
  // CHECK: llm.permute_rows %[[I]] digits [2, 4, 2] order [0, 2, 1] : tensor<16x8xf32>
  %r = llm.permute_rows %i digits [2, 4, 2] order [0, 2, 1] : tensor<16x8xf32>
  // CHECK: llm.permute_rows %[[N]] digits [8] order [0] : tensor<8xf32>
  %o = llm.permute_rows %n digits [8] order [0] : tensor<8xf32>
  // CHECK: %[[Q:.*]], %[[QS:.*]], %[[QZ:.*]] = llm.quantize %[[I]] <"int4", group = 4, zero_points = true> : (tensor<16x8xf32>) -> (tensor<16x8xi4>, tensor<16x2xbf16>, tensor<16x2xi8>)
  %q:3 = llm.quantize %i <"int4", group = 4, zero_points = true>
      : (tensor<16x8xf32>) -> (tensor<16x8xi4>, tensor<16x2xbf16>, tensor<16x2xi8>)
  // CHECK: llm.dequantize %[[Q]], %[[QS]], %[[QZ]] <"int4", group = 4, zero_points = true>
  %d = llm.dequantize %q#0, %q#1, %q#2 <"int4", group = 4, zero_points = true>
      : (tensor<16x8xi4>, tensor<16x2xbf16>, tensor<16x2xi8>) -> tensor<16x8xf32>
  // CHECK: %[[E:.*]], %[[ES:.*]] = llm.quantize %[[C]] <"fp8", group = -1, zero_points = false>
  %e:2 = llm.quantize %c <"fp8", group = -1, zero_points = false>
      : (tensor<12x8xf32>) -> (tensor<12x8xf8E4M3FN>, tensor<1x1xf32>)
  // CHECK: llm.dequantize %[[E]], %[[ES]] <"fp8", group = -1, zero_points = false>
  %g = llm.dequantize %e#0, %e#1 <"fp8", group = -1, zero_points = false>
      : (tensor<12x8xf8E4M3FN>, tensor<1x1xf32>) -> tensor<12x8xf32>
  // CHECK: %[[W:.*]] = llm.weight "words" from "model.safetensors" at 64 : tensor<8x2xi32>
  %w = llm.weight "words" from "model.safetensors" at 64 : tensor<8x2xi32>
  // CHECK: %[[U:.*]] = llm.unpack %[[W]] bits 4 order [0, 4, 1, 5, 2, 6, 3, 7] : tensor<8x2xi32> -> tensor<8x16xi4>
  %u = llm.unpack %w bits 4 order [0, 4, 1, 5, 2, 6, 3, 7] : tensor<8x2xi32> -> tensor<8x16xi4>
  // CHECK: llm.unpack %[[W]] bits 3 increment 1 bias -6 : tensor<8x2xi32> -> tensor<8x20xi8>
  %v = llm.unpack %w bits 3 increment 1 bias -6 : tensor<8x2xi32> -> tensor<8x20xi8>
  // CHECK: llm.block_part %{{.*}} "scales" of "Q8_0" block 10 : tensor<8x20xi8> -> tensor<8x2xf16>
  %bs = llm.block_part %v "scales" of "Q8_0" block 10 : tensor<8x20xi8> -> tensor<8x2xf16>
  // CHECK: %[[Q:.*]] = llm.block_part %{{.*}} "values" of "Q4_K" block 10 : tensor<8x20xi8> -> tensor<8x64xi4>
  %bv = llm.block_part %v "values" of "Q4_K" block 10 : tensor<8x20xi8> -> tensor<8x64xi4>
  // CHECK: llm.dequantize %[[Q]], %{{.*}}, %{{.*}} <"affine4", group = 32, zero_points = false>
  %bf = llm.dequantize %bv, %bs, %bs <"affine4", group = 32, zero_points = false>
      : (tensor<8x64xi4>, tensor<8x2xf16>, tensor<8x2xf16>) -> tensor<8x64xf32>
  // CHECK: %[[BOOK:.*]] = llm.literal "book"
  %book = llm.literal "book" dense<1.0> : tensor<16xf32> : tensor<16xf32>
  // CHECK: llm.dequantize %[[Q]], %{{.*}}, %[[BOOK]] <"codebook4", group = 32, zero_points = false>
  %bc = llm.dequantize %bv, %bs, %book <"codebook4", group = 32, zero_points = false>
      : (tensor<8x64xi4>, tensor<8x2xf16>, tensor<16xf32>) -> tensor<8x64xf32>
  // CHECK: llm.dequantize %{{.*}}, %{{.*}}, %{{.*}} <"codebook8", group = -1, zero_points = false>
  %table = llm.literal "table" dense<1.0> : tensor<256xf32> : tensor<256xf32>
  %bt = llm.dequantize %v, %e#1, %table <"codebook8", group = -1, zero_points = false>
      : (tensor<8x20xi8>, tensor<1x1xf32>, tensor<256xf32>) -> tensor<8x20xf32>
  // Scales in two levels: codes and their super_scales, or codes that name numbers of a table.
  %kb = llm.weight "k" from "f" at 0 : tensor<8x288xi8>
  // CHECK: llm.block_part %{{.*}} "super_scales" of "Q4_K" block 144 : tensor<8x288xi8> -> tensor<8x4xf16>
  %kq = llm.block_part %kb "values" of "Q4_K" block 144 : tensor<8x288xi8> -> tensor<8x512xi4>
  %ks = llm.block_part %kb "scales" of "Q4_K" block 144 : tensor<8x288xi8> -> tensor<8x16xi6>
  %kz = llm.block_part %kb "offsets" of "Q4_K" block 144 : tensor<8x288xi8> -> tensor<8x16xi6>
  %kd = llm.block_part %kb "super_scales" of "Q4_K" block 144 : tensor<8x288xi8> -> tensor<8x4xf16>
  // CHECK: llm.dequantize %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} <"affine4", group = 32, zero_points = false, scales = blocks>
  %kf = llm.dequantize %kq, %ks, %kz, %kd <"affine4", group = 32, zero_points = false, scales = blocks>
      : (tensor<8x512xi4>, tensor<8x16xi6>, tensor<8x16xi6>, tensor<8x4xf16>) -> tensor<8x512xf32>
  // CHECK: llm.dequantize %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} <"codebook4", group = 32, zero_points = false, scales = table>
  %tc = llm.weight "t" from "f" at 0 : tensor<8x16xi8>
  %tf = llm.dequantize %kq, %tc, %book, %table <"codebook4", group = 32, zero_points = false, scales = table>
      : (tensor<8x512xi4>, tensor<8x16xi8>, tensor<16xf32>, tensor<256xf32>) -> tensor<8x512xf32>
  // CHECK: llm.transpose %[[U]] : tensor<8x16xi4> -> tensor<16x8xi4>
  %t = llm.transpose %u : tensor<8x16xi4> -> tensor<16x8xi4>
  // CHECK: llm.repeat_rows %[[ES]] count 12 : tensor<1x1xf32> -> tensor<12x1xf32>
  %k = llm.repeat_rows %e#1 count 12 : tensor<1x1xf32> -> tensor<12x1xf32>
  // CHECK: %[[P:.*]] = llm.pack %[[C]] : tensor<12x8xf32> -> tensor<12x8xf32, #engine.layout<[0, 16, 1], [1, 1, 8], [0, 1, 16]>>
  %p = llm.pack %c : tensor<12x8xf32>
      -> tensor<12x8xf32, #engine.layout<[0, 16, 1], [1, 1, 8], [0, 1, 16]>>
  // CHECK: llm.store_weight "layers.0.qkv" %[[P]] format "f32" : tensor<12x8xf32, #engine.layout<
  llm.store_weight "layers.0.qkv" %p format "f32"
      : tensor<12x8xf32, #engine.layout<[0, 16, 1], [1, 1, 8], [0, 1, 16]>>
  // CHECK: llm.store_weight "norm" %[[N]] : tensor<8xf32>
  llm.store_weight "norm" %n : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @program
func.func @program() -> tensor<8xf32> {
  // CHECK: llm.load_weight "norm" : tensor<8xf32>
  %0 = llm.load_weight "norm" : tensor<8xf32>
  return %0 : tensor<8xf32>
}
