// SPDX-License-Identifier: Apache-2.0
// Products of activations and weights.
#ifndef INGOT_DIALECTS_LLM_LLMMATMULOPS_TD
#define INGOT_DIALECTS_LLM_LLMMATMULOPS_TD

include "dialects/engine/EngineAttributes.td"
include "dialects/llm/LlmTypes.td"

def Llm_MatmulOp : Llm_Op<"matmul", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
                                   Llm_EncodedWeightOpInterface, Llm_StoresResult,
                                   Llm_RowIndependent, Llm_SumsOpInterface]> {
  let summary = "result[t,n] = epilogue(sum over k of input[t,k] * weight[n,k])";
  let description = [{
    Floats: the weight's f32 value times the input's, in `sums`' units and segments. With a `group`
    it is what the scales multiply that is summed, and each group's sum is scaled; an offset times
    the sum of the group's inputs joins it by a fused multiply-add.
    i8 input with an integer weight, or with places in a code book of integers of at most 8 bits:
    exact sums over `group` columns, each times its scale, and where there are offsets the exact sum
    of the group's inputs times the offset, added in f32 in order of the groups by fused
    multiply-adds. Where scales are codes of blocks and `group` is a block: exact sums of the
    products of inputs, weights and codes, and of inputs and codes of offsets, with the super-block
    scales as scale and offset.
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

    With `heads` H the weight is a stack of H heads' weights, each maybe padded, and row r of the
    result is the product with that of head r mod H: rows are those of [T, H * K] as [T * H, K]
    (llm.split_rows).

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
                       Variadic<Llm_WeightTensor>:$parts,
                       Variadic<AnyRankedTensor>:$epilogue_operands,
                       Optional<Llm_IndexTensor>:$order, Optional<Llm_IndexTensor>:$starts,
                       OptionalAttr<Llm_EncodingAttr>:$encoding,
                       OptionalAttr<I64Attr>:$pair_offset, OptionalAttr<I64Attr>:$heads,
                       OptionalAttr<Engine_SumsAttr>:$sums);
  let results = (outs Llm_Activation:$result);
  let regions = (region AnyRegion:$epilogue);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
      "const ::ingot::llm::EncodedWeight &":$weight, CArg<"::mlir::Value", "{}">:$inputScales,
      CArg<"::mlir::ValueRange", "{}">:$operands, CArg<"::mlir::Value", "{}">:$order,
      CArg<"::mlir::Value", "{}">:$starts, CArg<"::mlir::IntegerAttr", "{}">:$pairOffset,
      CArg<"::mlir::IntegerAttr", "{}">:$heads), [{
    build($_builder, $_state, result, input, weight.values, inputScales, weight.parts(), operands,
          order, starts, weight.encoding, pairOffset, heads, ::ingot::engine::SumsAttr());
  }]>];
  let assemblyFormat = [{
    $input `,` $weight (`input_scales` `(` $input_scales^ `:` type($input_scales) `)`)?
    custom<Encoded>($parts, type($parts), $encoding)
    (`pair_offset` $pair_offset^)? (`sums` $sums^)?
    (`with` `(` $epilogue_operands^ `:` type($epilogue_operands) `)`)?
    (`groups` `(` $order^ `,` $starts `:` type($order) `,` type($starts) `)`)?
    (`heads` $heads^)? attr-dict `:` type($input) `,` type($weight) `->` type($result) ($epilogue^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::OpOperand &getStoredMutable() { return getWeightMutable(); }
    /// Weights that are stacked: experts with groups, heads with these, otherwise 1.
    int64_t experts();
    /// Rows of the weight that belong to one of them.
    int64_t expertRows();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif
