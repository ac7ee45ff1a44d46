// SPDX-License-Identifier: Apache-2.0
// Weight expressions: sources and the operations that turn stored bytes into packed weights.
#ifndef INGOT_DIALECTS_LLM_LLMWEIGHTOPS_TD
#define INGOT_DIALECTS_LLM_LLMWEIGHTOPS_TD

include "dialects/llm/LlmTypes.td"

def Llm_AnyWeight : RankedTensorOf<[AnyType], [HasStaticShapePred], "weight of static shape">;

class Llm_WeightExpr<string mnemonic, list<Trait> traits = []>
    : Llm_Op<mnemonic, traits # [Pure, Llm_WeightExpression]>;

def Llm_WeightOp : Llm_WeightExpr<"weight", [Llm_QuantizableRoot]> {
  let summary = "A tensor of the checkpoint, by name and byte range; never its data";
  let description = [{
    ```mlir
    %w = llm.weight "model.norm.weight" from "model.safetensors" at 4096 : tensor<256xbf16>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$file, I64Attr:$offset);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$name `from` $file `at` $offset attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Llm_LiteralOp : Llm_WeightExpr<"literal"> {
  let summary = "A small weight computed from the model's configuration: rotary frequencies";
  let description = [{
    ```mlir
    %f = llm.literal "rope.inv_freq" dense<[1.0, 0.5]> : tensor<2xf32> : tensor<2xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, ElementsAttr:$value);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$name $value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Llm_ConvertOp : Llm_WeightExpr<"convert"> {
  let summary = "Weight, plus a constant in f32, in another float type, rounded to nearest even";
  let arguments = (ins Llm_AnyWeight:$input, DefaultValuedAttr<F32Attr, "0.0f">:$plus);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input (`plus` $plus^)? attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def Llm_QuantizeOp : Llm_WeightExpr<"quantize"> {
  let summary = "Round-to-nearest quantization of a weight";
  let description = [{
    Per group of a row (or per row, or over the whole tensor): symmetric int8 scale = amax / 127,
    |stored| <= 127;
    integers of b < 8 bits, h = 2^(b-1): scale = m / -h rounded to the scale type, where m is the
    weight of the largest magnitude with its sign (the negative one of two),
    stored = clamp(rne(w / scale) + h, 0, 2h - 1); with zero points: scale = (max' - min') /
    (2h - 1) over min' = min(min, 0), max' = max(max, 0), zero = clamp(rne(-min' / scale), 0,
    2h - 1), stored = clamp(rne(w / scale) + zero, 0, 2h - 1);
    fp8 scale = amax / 448, stored = e4m3(w / scale). A zero group has scale 1 and zero h.
  }];
  let arguments = (ins Llm_AnyWeight:$input, Llm_EncodingAttr:$encoding);
  let results = (outs Llm_AnyWeight:$values, Llm_AnyWeight:$scales,
                      Optional<Llm_AnyWeight>:$zeros);
  let assemblyFormat = "$input $encoding attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Llm_DequantizeOp : Llm_WeightExpr<"dequantize", [Llm_EncodedWeightOpInterface,
                                                     Llm_QuantizableRoot]> {
  let summary = "The f32 values that an encoded weight stands for";
  let description = [{
    What is beside the values follows from the encoding: scales, zeros, super-block scales.
  }];
  let arguments = (ins Llm_AnyWeight:$values, Variadic<Llm_AnyWeight>:$parts,
                       Llm_EncodingAttr:$encoding);
  let results = (outs Llm_AnyWeight:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result,
                                 "const ::ingot::llm::EncodedWeight &":$weight), [{
    build($_builder, $_state, result, weight.values, weight.parts(), weight.encoding);
  }]>];
  let assemblyFormat = [{
    $values `,` $parts $encoding attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::OpOperand &getStoredMutable() { return getValuesMutable(); }
  }];
  let hasVerifier = 1;
}

def Llm_UnpackOp : Llm_WeightExpr<"unpack"> {
  let summary = "Small unsigned integers out of a row of packed words";
  let description = [{
    A row of the input is a stream of bits: its words one after the other, each little-endian. Field
    f of the stream is bits [f * bits, (f + 1) * bits), so fields may cross words. Element k of the
    result is field f(k), plus `increment` modulo 2^bits, minus `bias`. f(k) = k, or with an order
    of m numbers k / m * m + order[k % m]. Fields that the result has no column for are dropped.

    ```mlir
    %z = llm.unpack %q bits 4 increment 1 order [0, 4, 1, 5, 2, 6, 3, 7]
        : tensor<2x16xi32> -> tensor<2x128xi8>
    ```
  }];
  let arguments = (ins Llm_AnyWeight:$input, I64Attr:$bits,
                       DefaultValuedAttr<I64Attr, "0">:$increment,
                       DefaultValuedAttr<I64Attr, "0">:$bias,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$order);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = [{
    $input `bits` $bits (`increment` $increment^)? (`bias` $bias^)? (`order` $order^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_BlockPartOp : Llm_WeightExpr<"block_part"> {
  let summary = "Stored numbers, scales, offsets or super-block scales of a row of ggml blocks";
  let description = [{
    A row of the input is blocks of `block` bytes of the ggml type `format`. A row of the result is
    one part of each of them: "values" has the block's elements, "scales" and "offsets" a number or
    a code for each group of them, "super_scales" what codes are multiplied by. What the parts of a
    type are stands in compiler/checkpoint/gguf/GgmlBlocks.h.

    ```mlir
    %s = llm.block_part %b "scales" of "Q4_K" block 144 : tensor<4x288xi8> -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins Llm_AnyWeight:$input, StrAttr:$part, StrAttr:$format, I64Attr:$block);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = [{
    $input $part `of` $format `block` $block attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_TransposeOp : Llm_WeightExpr<"transpose", [Llm_ReordersElements, Llm_QuantizableRoot]> {
  let summary = "Rows as columns";
  let arguments = (ins Llm_AnyWeight:$input);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_ReshapeOp : Llm_WeightExpr<"reshape", [Llm_ReordersElements]> {
  let summary = "The same elements, row after row, in rows of another width";
  let arguments = (ins Llm_AnyWeight:$input);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_RepeatRowsOp : Llm_WeightExpr<"repeat_rows"> {
  let summary = "Every row `count` times in a row: one scale for a block of rows, for each of them";
  let description = "Row n of the result is row n / count of the input; surplus rows are dropped.";
  let arguments = (ins Llm_AnyWeight:$input, I64Attr:$count);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input `count` $count attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_SliceRowsOp : Llm_WeightExpr<"slice_rows", [Llm_QuantizableRoot]> {
  let summary = "The rows from `first` on, as many as the result has";
  let arguments = (ins Llm_AnyWeight:$input, I64Attr:$first);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input `from` $first attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_ConcatRowsOp : Llm_WeightExpr<"concat_rows", [Llm_StacksMatrices]> {
  let summary = "Weights of equal width stacked along axis 0";
  let arguments = (ins Variadic<Llm_AnyWeight>:$inputs);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Llm_InterleaveRowsOp : Llm_WeightExpr<"interleave_rows"> {
  let summary = "Alternate blocks of `block` rows of two weights: a, b, a, b, ...";
  let description = [{
    Puts the two members of a pair a fixed number of columns apart in the product, for pair
    epilogues. The last blocks are padded with zero rows.
  }];
  let arguments = (ins Llm_AnyWeight:$first, Llm_AnyWeight:$second, I64Attr:$block);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = [{
    $first `,` $second `block` $block attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Llm_PermuteRowsOp : Llm_WeightExpr<"permute_rows", [SameOperandsAndResultType,
                                                        Llm_ReordersElements,
                                                        Llm_QuantizableRoot]> {
  let summary = "Rows in another order: the digits of the row index exchanged";
  let description = [{
    The index of an input row is written with `digits`, radices from the outermost on, whose product
    is the number of rows. Its place in the result has the same digits in another order: place j
    from the outermost on takes input digit order[j].
    ```mlir
    // Rows 2i and 2i+1 of each of 8 heads, which rotate together, become rows i and i+8.
    %p = llm.permute_rows %w digits [8, 8, 2] order [0, 2, 1] : tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Llm_AnyWeight:$input, DenseI64ArrayAttr:$digits, DenseI64ArrayAttr:$order);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input `digits` $digits `order` $order attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Llm_ScaleColumnsOp : Llm_WeightExpr<"scale_columns"> {
  let summary = "weight[n,k] * factors[k] in f32: a norm's weight folded into the next product";
  let arguments = (ins Llm_AnyWeight:$input, Llm_AnyWeight:$factors);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input `,` $factors attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def Llm_AddLowRankOp : Llm_WeightExpr<"add_low_rank", [Llm_QuantizableRoot]> {
  let summary = "weight + scale * left * right in f32: a low-rank adapter (LoRA) merged";
  let description = [{
    `left` is [N, r], `right` [r, K]. An element's products are rounded to f32 and added in order of
    r; so are the product with `scale` and the sum with the weight.
  }];
  let arguments = (ins Llm_AnyWeight:$input, Llm_AnyWeight:$left, Llm_AnyWeight:$right,
                       F32Attr:$scale);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = [{
    $input `,` $left `,` $right `scale` $scale attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Llm_PackOp : Llm_WeightExpr<"pack"> {
  let summary = "A weight in the memory order of its result type's layout";
  let description = [{
    ```mlir
    %p = llm.pack %w : tensor<2048x256xbf16>
      -> tensor<2048x256xbf16, #engine.layout<[0, 16, 128], [1, 1, 256], [0, 1, 16]>>
    ```
  }];
  let arguments = (ins Llm_AnyWeight:$input);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_StoreWeightOp : Llm_Op<"store_weight"> {
  let summary = "In @weights: a packed weight that the engine file carries";
  let arguments = (ins StrAttr:$name, Llm_AnyWeight:$value, OptionalAttr<StrAttr>:$format);
  let assemblyFormat = "$name $value (`format` $format^)? attr-dict `:` type($value)";
}

def Llm_LoadWeightOp : Llm_WeightExpr<"load_weight"> {
  let summary = "In a program: a weight that @weights stores";
  let arguments = (ins StrAttr:$name);
  let results = (outs Llm_AnyWeight:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

#endif
