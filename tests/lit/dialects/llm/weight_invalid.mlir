// RUN: %ingot_opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{KV heads, head size and block size must be positive}}
func.func private @f(!llm.kv<0 x 64 x bf16, block = 16>)

// -----

// expected-error @+1 {{KV elements of type 'i4' are not supported}}
func.func private @f(!llm.kv<2 x 64 x i4, block = 16>)

// -----

// expected-error @+1 {{unknown encoding 'nf4'}}
func.func private @f() attributes {a = #llm.encoding<"nf4", group = 64, zero_points = false>}

// -----

// expected-error @+1 {{encoding 'int8' has no group -1}}
func.func private @f() attributes {a = #llm.encoding<"int8", group = -1, zero_points = false>}

// -----

// expected-error @+1 {{encoding 'int4' has no group -1}}
func.func private @f() attributes {a = #llm.encoding<"int4", group = -1, zero_points = false>}

// -----

// expected-error @+1 {{encoding 'fp8' has no zero points}}
func.func private @f() attributes {a = #llm.encoding<"fp8", group = 0, zero_points = true>}

// -----

func.func @f() {
  // expected-error @+1 {{needs a tensor name and a file}}
  %0 = llm.weight "" from "a.safetensors" at 0 : tensor<2xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{offset is negative}}
  %0 = llm.weight "a" from "a.safetensors" at -1 : tensor<2xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{value and result have different types}}
  %0 = llm.literal "a" dense<[1.0, 2.0]> : tensor<2xf32> : tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{changes the shape}}
  %0 = llm.convert %a : tensor<2x4xf32> to tensor<4x2xbf16>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{values must have the input's shape}}
  %0, %1 = llm.quantize %a <"int4", group = 4, zero_points = false>
      : (tensor<2x8xf32>) -> (tensor<2x4xi4>, tensor<2x1xbf16>)
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{makes zero points of fewer than 8 bits only}}
  %0:3 = llm.quantize %a <"int8", group = 4, zero_points = true>
      : (tensor<2x8xf32>) -> (tensor<2x8xi8>, tensor<2x2xf32>, tensor<2x2xi8>)
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{does not go with}}
  %0, %1 = llm.quantize %a <"int4", group = 4, zero_points = false>
      : (tensor<2x8xf32>) -> (tensor<2x8xi8>, tensor<2x2xbf16>)
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{scales must be [2, 2], not [2, 1]}}
  %0, %1 = llm.quantize %a <"int4", group = 4, zero_points = false>
      : (tensor<2x8xf32>) -> (tensor<2x8xi4>, tensor<2x1xbf16>)
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{zero points go with an encoding that has them, and only with it}}
  %0, %1 = llm.quantize %a <"int4", group = 4, zero_points = true>
      : (tensor<2x8xf32>) -> (tensor<2x8xi4>, tensor<2x2xbf16>)
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{zero points and scales must have the same shape}}
  %0:3 = llm.quantize %a <"int4", group = 4, zero_points = true>
      : (tensor<2x8xf32>) -> (tensor<2x8xi4>, tensor<2x2xbf16>, tensor<2x1xi8>)
  return
}

// -----

func.func @f(%a: tensor<2x8xi8>, %s: tensor<2x1xf32>) {
  // expected-error @+1 {{result must have the values' shape}}
  %0 = llm.dequantize %a, %s <"int8", group = 0, zero_points = false>
      : (tensor<2x8xi8>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs an input}}
  %0 = llm.concat_rows : () -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{cannot be stacked into}}
  %0 = llm.concat_rows %a : (tensor<2x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{result must have 4 rows}}
  %0 = llm.concat_rows %a, %a : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>, %b: tensor<2x8xbf16>) {
  // expected-error @+1 {{both inputs must have the same type}}
  %0 = llm.interleave_rows %a, %b block 2 : (tensor<2x8xf32>, tensor<2x8xbf16>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{block must be positive}}
  %0 = llm.interleave_rows %a, %a block 0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<3x8xf32>) {
  // expected-error @+1 {{result must have 8 rows of the inputs' width}}
  %0 = llm.interleave_rows %a, %a block 2 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{needs one factor per column}}
  %0 = llm.scale_columns %a, %b : (tensor<2x8xf32>, tensor<2xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{changes the shape}}
  %0 = llm.scale_columns %a, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{changes more than the shape}}
  %0 = llm.reshape %a : tensor<2x8xf32> -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{takes rows that the input does not have}}
  %0 = llm.slice_rows %a from 2 : tensor<4x8xf32> -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{changes more than the rows}}
  %0 = llm.slice_rows %a from 0 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<4x2xf32>, %c: tensor<3x8xf32>) {
  // expected-error @+1 {{left and right do not multiply to the weight's shape}}
  %0 = llm.add_low_rank %a, %b, %c scale 1.0 : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{result needs a layout}}
  %0 = llm.pack %a : tensor<2x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{changes more than the layout}}
  %0 = llm.pack %a : tensor<2x8xf32>
      -> tensor<2x8xbf16, #engine.layout<[0, 1, 2], [1, 1, 8]>>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{layout has no place for 2 x 8 elements}}
  %0 = llm.pack %a : tensor<2x8xf32>
      -> tensor<2x8xf32, #engine.layout<[0, 1, 2], [1, 1, 4]>>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{input must be integers of whole bytes}}
  %0 = llm.unpack %a bits 4 : tensor<2x8xf32> -> tensor<2x64xi4>
  return
}

// -----

func.func @f(%a: tensor<2x8xi32>) {
  // expected-error @+1 {{fields have 1 to 8 bits}}
  %0 = llm.unpack %a bits 9 : tensor<2x8xi32> -> tensor<2x8xi8>
  return
}

// -----

func.func @f(%a: tensor<2x8xi32>) {
  // expected-error @+1 {{needs matrices of equally many rows}}
  %0 = llm.unpack %a bits 4 : tensor<2x8xi32> -> tensor<4x8xi4>
  return
}

// -----

func.func @f(%a: tensor<2x8xi32>) {
  // expected-error @+1 {{result cannot hold every field}}
  %0 = llm.unpack %a bits 4 bias 1 : tensor<2x8xi32> -> tensor<2x8xi4>
  return
}

// -----

func.func @f(%a: tensor<2x8xi32>) {
  // expected-error @+1 {{order must have each number from 0 once}}
  %0 = llm.unpack %a bits 4 order [0, 2] : tensor<2x8xi32> -> tensor<2x8xi4>
  return
}

// -----

func.func @f(%a: tensor<2x1xi32>) {
  // expected-error @+1 {{a row has too few bits for 11 fields}}
  %0 = llm.unpack %a bits 3 : tensor<2x1xi32> -> tensor<2x11xi4>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{cannot become}}
  %0 = llm.transpose %a : tensor<2x8xf32> -> tensor<8x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{2 rows 3 times are not 7 rows}}
  %0 = llm.repeat_rows %a count 3 : tensor<2x8xf32> -> tensor<7x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{changes more than the rows}}
  %0 = llm.repeat_rows %a count 2 : tensor<2x8xf32> -> tensor<4x8xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{needs 1 to 8 digits and an order of as many}}
  %0 = llm.permute_rows %a digits [] order [] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{needs 1 to 8 digits and an order of as many}}
  %0 = llm.permute_rows %a digits [2, 8] order [0] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{digits must be positive, and their product no more than 63 bits}}
  %0 = llm.permute_rows %a digits [0, 16] order [0, 1] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{digits must be positive, and their product no more than 63 bits}}
  %0 = llm.permute_rows %a digits [9223372036854775807, 2] order [0, 1] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{digits are those of 8 rows}}
  %0 = llm.permute_rows %a digits [2, 4] order [1, 0] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{order must name each digit once}}
  %0 = llm.permute_rows %a digits [2, 8] order [1, 1] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{order must name each digit once}}
  %0 = llm.permute_rows %a digits [2, 8] order [1, 2] : tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @+1 {{needs a matrix of bytes}}
  %0 = llm.block_part %a "scales" of "Q8_0" block 4 : tensor<2x8xf32> -> tensor<2x2xf16>
  return
}

// -----

func.func @f(%a: tensor<2x8xi8>) {
  // expected-error @+1 {{blocks have no part 'bytes'}}
  %0 = llm.block_part %a "bytes" of "Q8_0" block 4 : tensor<2x8xi8> -> tensor<2x2xf16>
  return
}

// -----

func.func @f(%a: tensor<2x8xi8>) {
  // expected-error @+1 {{a row is no whole number of blocks}}
  %0 = llm.block_part %a "scales" of "Q8_0" block 3 : tensor<2x8xi8> -> tensor<2x2xf16>
  return
}

// -----

func.func @f(%a: tensor<2x8xi8>) {
  // expected-error @+1 {{result must have as many elements of each block}}
  %0 = llm.block_part %a "scales" of "Q8_0" block 4 : tensor<2x8xi8> -> tensor<2x3xf16>
  return
}

// -----

func.func @f(%v: tensor<2x64xi4>, %s: tensor<2x2xf16>, %z: tensor<2x2xi8>) {
  // expected-error @+1 {{zeros of #llm.encoding<"affine4", group = 32, zero_points = false> must be 'f16'}}
  %0 = llm.dequantize %v, %s, %z <"affine4", group = 32, zero_points = false>
      : (tensor<2x64xi4>, tensor<2x2xf16>, tensor<2x2xi8>) -> tensor<2x64xf32>
  return
}

// -----

func.func @f(%v: tensor<2x64xi4>, %s: tensor<2x2xf16>, %z: tensor<2x2xf16>) {
  // expected-error @+1 {{a codebook must be 16 f32 numbers}}
  %0 = llm.dequantize %v, %s, %z <"codebook4", group = 32, zero_points = false>
      : (tensor<2x64xi4>, tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x64xf32>
  return
}

// -----

func.func @f(%v: tensor<2x64xi8>, %s: tensor<1x1xf32>, %z: tensor<16xf32>) {
  // expected-error @+1 {{a codebook must be 256 f32 numbers}}
  %0 = llm.dequantize %v, %s, %z <"codebook8", group = -1, zero_points = false>
      : (tensor<2x64xi8>, tensor<1x1xf32>, tensor<16xf32>) -> tensor<2x64xf32>
  return
}

// -----

// expected-error @+1 {{scales must be plain, blocks or table}}
func.func private @f() attributes {a = #llm.encoding<"int6", group = 16, zero_points = false, scales = tables>}

// -----

// expected-error @+1 {{scales of blocks are for groups that divide 256, without zero points}}
func.func private @f() attributes {a = #llm.encoding<"int4", group = 48, zero_points = false, scales = blocks>}

// -----

// expected-error @+1 {{scales of a table are for groups and rows, without offsets}}
func.func private @f() attributes {a = #llm.encoding<"affine4", group = 32, zero_points = false, scales = table>}

// -----

func.func @f(%v: tensor<2x256xi6>, %s: tensor<2x16xi8>) {
  // expected-error @+1 {{tensors beside the values of its weight: 1, and its encoding needs 2}}
  %0 = llm.dequantize %v, %s <"int6", group = 16, zero_points = false, scales = blocks>
      : (tensor<2x256xi6>, tensor<2x16xi8>) -> tensor<2x256xf32>
  return
}

// -----

func.func @f(%v: tensor<2x256xi6>, %s: tensor<2x16xf16>, %d: tensor<2x1xf16>) {
  // expected-error @+1 {{scales of blocks are i4, i6 or i8, and their super-block scales f16 or f32}}
  %0 = llm.dequantize %v, %s, %d <"int6", group = 16, zero_points = false, scales = blocks>
      : (tensor<2x256xi6>, tensor<2x16xf16>, tensor<2x1xf16>) -> tensor<2x256xf32>
  return
}

// -----

func.func @f(%v: tensor<2x256xi4>, %s: tensor<2x8xi6>, %d: tensor<2x1xf16>) {
  // expected-error @+1 {{super-block scales must be [2, 2] of whole blocks of 256 columns}}
  %0 = llm.dequantize %v, %s, %s, %d <"affine4", group = 32, zero_points = false, scales = blocks>
      : (tensor<2x256xi4>, tensor<2x8xi6>, tensor<2x8xi6>, tensor<2x1xf16>) -> tensor<2x256xf32>
  return
}

// -----

func.func @f(%v: tensor<2x96xi6>, %s: tensor<2x6xi8>, %d: tensor<2x1xf16>) {
  // expected-error @+1 {{of whole blocks of 256 columns}}
  %0 = llm.dequantize %v, %s, %d <"int6", group = 16, zero_points = false, scales = blocks>
      : (tensor<2x96xi6>, tensor<2x6xi8>, tensor<2x1xf16>) -> tensor<2x96xf32>
  return
}

// -----

func.func @f(%v: tensor<2x64xi4>, %s: tensor<2x2xi8>, %b: tensor<16xf32>) {
  // expected-error @+1 {{scales of a table are i8, and the table 256 f32 numbers}}
  %0 = llm.dequantize %v, %s, %b, %b <"codebook4", group = 32, zero_points = false, scales = table>
      : (tensor<2x64xi4>, tensor<2x2xi8>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x64xf32>
  return
}
