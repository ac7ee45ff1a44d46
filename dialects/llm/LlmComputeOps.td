// SPDX-License-Identifier: Apache-2.0
// Operations of a step on activations: embedding, norm, products, point-wise mathematics, rounding.
#ifndef INGOT_DIALECTS_LLM_LLMCOMPUTEOPS_TD
#define INGOT_DIALECTS_LLM_LLMCOMPUTEOPS_TD

include "dialects/llm/LlmTypes.td"

def Llm_EmbedOp : Llm_Op<"embed", [Pure, AttrSizedOperandSegments]> {
  let summary = "Rows of the embedding table: result[t] = table[tokens[t]]";
  let arguments = (ins Llm_IndexTensor:$tokens, Llm_WeightTensor:$table,
                       Optional<Llm_WeightTensor>:$scales, Optional<Llm_WeightTensor>:$zeros,
                       Optional<Llm_WeightTensor>:$supers,
                       OptionalAttr<Llm_EncodingAttr>:$encoding);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $tokens `,` $table (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`zeros` `(` $zeros^ `:` type($zeros) `)`)?
    (`supers` `(` $supers^ `:` type($supers) `)`)? custom<Encoding>($encoding) attr-dict
    `:` type($tokens) `,` type($table) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_RmsNormOp : Llm_Op<"rms_norm", [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Root-mean-square norm of each row or head, optionally of a sum, or quantized";
  let description = [{
    s = round(input + residual) to the type of `sum` (s = input without residual);
    y = s / sqrt(mean(s^2) + eps) * weight (no factor without weight), rounded to `result`'s type.
    The sum of squares runs over segments of 256 columns, each in order, then over the segments in
    order. With `quantized`: y (before rounding to it, after rounding to `store`) is quantized as by
    llm.quantize_activation, with its `static_scale`, into `result` and `scales`.

    With `head_dim` every run of so many columns is a row of its own, all with the same weight of
    `head_dim` factors; there is no sum and no quantized result then.
  }];
  let arguments = (ins Llm_Activation:$input, Optional<Llm_Activation>:$residual,
                       Optional<Llm_WeightTensor>:$weight,
                       Optional<Llm_WeightTensor>:$static_scale, F32Attr:$eps,
                       OptionalAttr<TypeAttr>:$store, OptionalAttr<I64Attr>:$head_dim);
  let results = (outs Llm_MatmulInput:$result, Optional<AnyRankedTensor>:$scales,
                      Optional<Llm_Activation>:$sum);
  let extraClassDeclaration = [{
    /// Columns that are normed together.
    int64_t normedColumns();
  }];
  let assemblyFormat = [{
    $input (`plus` `(` $residual^ `:` type($residual) `)`)?
    (`weight` `(` $weight^ `:` type($weight) `)`)?
    (`static` `(` $static_scale^ `:` type($static_scale) `)`)? `eps` $eps (`store` $store^)?
    (`head_dim` $head_dim^)? attr-dict
    `:` type($input) `->` type($result) (`scales` type($scales)^)? (`sum` type($sum)^)?
  }];
  let hasVerifier = 1;
}

def Llm_MatmulOp : Llm_Op<"matmul", [Pure, IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "result[t,n] = epilogue(sum over k of input[t,k] * weight[n,k])";
  let description = [{
    Floats: the weight's f32 value times the input's, summed in f32 over segments of 512 columns of
    k, each segment in order of k, then the segments in order. Of a bf16 input and a bf16 weight a
    target may sum as its dot products do: the two columns of each pair in the other order, or the
    even and the odd columns of each 32 apart. i8 input with an integer weight, or
    with places in a code book of integers of at most 8 bits: exact integer sums per weight group
    (per row without groups), each times its scale, and where there are offsets the exact sum of the
    group's inputs times the offset, added in f32 in order of the groups by fused multiply-adds.
    Where scales are codes of blocks and the input has one scale for a row, a target may also sum
    exactly over a block the products of inputs, weights and codes, and of inputs and codes of
    offsets, which then are groups with the supers as their scale and offset. Of a float input a
    target may also sum, group by group or in equal parts of a long group, the products with what
    the scales multiply, and then scale the sums; an offset is added times the sum of inputs. These
    sums, and those with a bf16 weight, may take the input as parts of bf16 that add up to it, and
    the even and the odd columns of each 32 apart.
    With `input_scales` ([T], one per row) the sum is multiplied by the row's scale last, before the
    epilogue. An i8 input may have one for each group of K / G columns ([T, G]), where groups of
    input or weight are multiples of the other's: exact sums are those of the narrower ones. Each
    is multiplied by the weight's scale, the sum of its inputs times the offset joins it by a fused
    multiply-add, and the product of that and the input's scale joins the total by another.

    The epilogue region gets the sum as f32 (with `pair_offset` = p two sums: columns c and c + p,
    where c runs over the even blocks of p columns, so the result has half the columns), then one
    f32 per epilogue operand: operands of shape [T, N'] by row and column, [N'] by column, [T] or
    [T, 1] by row. It yields one f32, rounded to the result's element type. No region: identity.
    A weight may have more rows than the result needs (padding); the surplus is not stored.

    With `groups` (order and starts, as llm.group_rows makes them) the weight is a stack of E
    experts' weights, and row r of the result is the product with that of the expert e whose rows,
    order[starts[e]] to order[starts[e + 1] - 1], it is among. An input with a row for k rows of the
    result is read k times: row r reads row r / k. There is no padding then.

    ```mlir
    %y = llm.matmul %x, %w with(%b : tensor<768xf32>)
        : tensor<?x256xf32, "T">, tensor<768x256xbf16> -> tensor<?x768xf32, "T"> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      llm.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins Llm_MatmulInput:$input, Llm_WeightTensor:$weight,
                       Optional<AnyRankedTensor>:$input_scales,
                       Optional<Llm_WeightTensor>:$scales, Optional<Llm_WeightTensor>:$zeros,
                       Optional<Llm_WeightTensor>:$supers,
                       Variadic<AnyRankedTensor>:$epilogue_operands,
                       Optional<Llm_IndexTensor>:$order, Optional<Llm_IndexTensor>:$starts,
                       OptionalAttr<Llm_EncodingAttr>:$encoding,
                       OptionalAttr<I64Attr>:$pair_offset);
  let results = (outs Llm_Activation:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $input `,` $weight (`input_scales` `(` $input_scales^ `:` type($input_scales) `)`)?
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`zeros` `(` $zeros^ `:` type($zeros) `)`)?
    (`supers` `(` $supers^ `:` type($supers) `)`)? custom<Encoding>($encoding)
    (`pair_offset` $pair_offset^)?
    (`with` `(` $epilogue_operands^ `:` type($epilogue_operands) `)`)?
    (`groups` `(` $order^ `,` $starts `:` type($order) `,` type($starts) `)`)?
    attr-dict `:` type($input) `,` type($weight) `->` type($result) ($epilogue^)?
  }];
  let extraClassDeclaration = [{
    /// Weights that are stacked: experts with groups, 1 without.
    int64_t experts();
    /// Rows of the weight that belong to one of them.
    int64_t expertRows();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Llm_YieldOp : Llm_Op<"yield", [Pure, Terminator, ReturnLike,
                                   ParentOneOf<["MatmulOp", "PointwiseOp"]>]> {
  let summary = "The value of an epilogue or point-wise region";
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Llm_PointwiseOp : Llm_Op<"pointwise", [Pure, IsolatedFromAbove]> {
  let summary = "A scalar f32 function of the operands, element by element";
  let description = [{
    Operands of shape [T, N] are read by row and column, [N] by column, [T] or [T, 1] by row, and
    extended to f32; the yielded f32 is rounded to the result's element type. Operations allowed in
    regions: arith add/sub/mul/div/neg/maximum/minimum/maxnum/minnum/cmpf/select/extf/truncf and
    constants, math exp/tanh/rsqrt/sqrt/absf.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Llm_Activation:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result) $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Llm_RoundOp : Llm_Op<"round", [Pure]> {
  let summary = "A rounding point: activations stored in a narrower float type (nearest even)";
  let arguments = (ins Llm_Activation:$input);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def Llm_QuantizeActivationOp : Llm_Op<"quantize_activation", [Pure]> {
  let summary = "A rounding point: rows scaled to 8 bits, by their absolute maximum or all alike";
  let description = [{
    i8: scale = amax / 127, value = rne(x / scale); f8E4M3FN: scale = amax / 448, value = e4m3(x /
    scale). Division in f32. A zero row has scale 1. With `static_scale`, f32 [1], every row has
    that scale, and x / scale is clamped to -127 ... 127 or -448 ... 448 first. Scales of shape
    [T, G], in i8, are those of runs of columns / G columns each; a static one has none.
  }];
  let arguments = (ins Llm_Activation:$input, Optional<Llm_WeightTensor>:$static_scale);
  let results = (outs TensorOf<[I8, F8E4M3FN]>:$result, TensorOf<[F32]>:$scales);
  let assemblyFormat = [{
    $input (`static` `(` $static_scale^ `:` type($static_scale) `)`)? attr-dict
    `:` type($input) `->` type($result) `,` type($scales)
  }];
  let hasVerifier = 1;
}

def Llm_SliceColumnsOp : Llm_Op<"slice_columns", [Pure]> {
  let summary = "Columns [first, first + width) of each row";
  let arguments = (ins Llm_Activation:$input, I64Attr:$first);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input `from` $first attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_GatherRowsOp : Llm_Op<"gather_rows", [Pure]> {
  let summary = "result[l] = input[rows[l]]";
  let arguments = (ins Llm_Activation:$input, Llm_IndexTensor:$rows);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $rows attr-dict `:` type($input) `,` type($rows) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_GatherColumnsOp : Llm_Op<"gather_columns", [Pure]> {
  let summary = "result[t,k] = input[t, columns[k]]: what a weight with reordered columns reads";
  let arguments = (ins Llm_Activation:$input, Llm_IndexTensor:$columns);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $columns attr-dict `:` type($input) `,` type($columns) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_BoundaryOp : Llm_Op<"boundary", [SameOperandsAndResultType]> {
  let summary = "Names a value at a cut between segments of the program; the identity";
  let description = [{
    ```mlir
    %1 = llm.boundary %0 ends "layers.0" : tensor<?x256xf32, "T">
    ```
  }];
  let arguments = (ins Llm_Activation:$input, StrAttr:$segment);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input `ends` $segment attr-dict `:` type($result)";
}

#endif
