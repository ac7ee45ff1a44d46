// SPDX-License-Identifier: Apache-2.0
// Operations of a step on activations: embedding, norm, point-wise mathematics, rounding.
#ifndef INGOT_DIALECTS_LLM_LLMCOMPUTEOPS_TD
#define INGOT_DIALECTS_LLM_LLMCOMPUTEOPS_TD

include "dialects/engine/EngineAttributes.td"
include "dialects/llm/LlmTypes.td"

def Llm_EmbedOp : Llm_Op<"embed", [Pure, Llm_EncodedWeightOpInterface, Llm_StoresResult,
                                   Llm_RowIndependent]> {
  let summary = "Rows of the embedding table: result[t] = table[tokens[t]]";
  let description = [{
    A token outside the table takes row 0, as a negative one: llm.sample gives it where none may be
    drawn, and a step that was started before the host saw it stays inside the table.
  }];
  let arguments = (ins Llm_IndexTensor:$tokens, Llm_WeightTensor:$table,
                       Variadic<Llm_WeightTensor>:$parts,
                       OptionalAttr<Llm_EncodingAttr>:$encoding);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $tokens `,` $table custom<Encoded>($parts, type($parts), $encoding) attr-dict
    `:` type($tokens) `,` type($table) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$tokens,
                                 "const ::ingot::llm::EncodedWeight &":$table), [{
    build($_builder, $_state, result, tokens, table.values, table.parts(), table.encoding);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::OpOperand &getStoredMutable() { return getTableMutable(); }
  }];
  let hasVerifier = 1;
}

def Llm_NormOp : Llm_Op<"norm", [Pure, AttrSizedOperandSegments, AttrSizedResultSegments,
                                 Llm_StoresResult, Llm_RowIndependent, Llm_SumsOpInterface]> {
  let summary = "RMSNorm or LayerNorm of each row or head, optionally of a sum, or quantized";
  let description = [{
    s = round(input + residual) to the type of `sum` (s = input without residual);
    c = s - mean(s) with `centered` (LayerNorm), c = s without (RMSNorm);
    y = c / sqrt(mean(c^2) + eps) * weight + bias (no factor without weight, nothing added without
    bias), rounded to `result`'s type.
    A mean is a sum over the columns, in the order that `sums` says, divided by their number. With
    `quantized`: y (before rounding to it, after rounding to `store`) is quantized as by
    llm.quantize_activation, with its `static_scale`, into `result` and `scales`.

    With `head_dim` every run of so many columns is a row of its own; there is no sum and no
    quantized result then. Weight and bias have `head_dim` numbers for all heads alike, or one for
    each column of the input.
  }];
  let arguments = (ins Llm_Activation:$input, Optional<Llm_Activation>:$residual,
                       Optional<Llm_WeightTensor>:$weight, Optional<Llm_WeightTensor>:$bias,
                       Optional<Llm_WeightTensor>:$static_scale, F32Attr:$eps,
                       UnitAttr:$centered, OptionalAttr<TypeAttr>:$store,
                       OptionalAttr<I64Attr>:$head_dim, OptionalAttr<Engine_SumsAttr>:$sums);
  let results = (outs Llm_MatmulInput:$result, Optional<AnyRankedTensor>:$scales,
                      Optional<Llm_Activation>:$sum);
  let extraClassDeclaration = [{
    /// Columns that are normed together.
    int64_t normedColumns();
    /// Whether each head has factors, and what is added, of its own.
    bool headsDiffer();
  }];
  let assemblyFormat = [{
    $input (`plus` `(` $residual^ `:` type($residual) `)`)? (`centered` $centered^)?
    (`weight` `(` $weight^ `:` type($weight) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`static` `(` $static_scale^ `:` type($static_scale) `)`)? `eps` $eps (`store` $store^)?
    (`head_dim` $head_dim^)? (`sums` $sums^)? attr-dict
    `:` type($input) `->` type($result) (`scales` type($scales)^)? (`sum` type($sum)^)?
  }];
  let hasVerifier = 1;
}

def Llm_YieldOp : Llm_Op<"yield", [Pure, Terminator, ReturnLike,
                                   ParentOneOf<["MatmulOp", "PointwiseOp"]>]> {
  let summary = "The value of an epilogue or point-wise region";
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Llm_PointwiseOp : Llm_Op<"pointwise", [Pure, IsolatedFromAbove, Llm_StoresResult,
                                           Llm_RowIndependent]> {
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

def Llm_RoundOp : Llm_Op<"round", [Pure, Llm_RowIndependent]> {
  let summary = "A rounding point: activations stored in a narrower float type (nearest even)";
  let arguments = (ins Llm_Activation:$input);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def Llm_QuantizeActivationOp : Llm_Op<"quantize_activation", [Pure, Llm_RowIndependent]> {
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

def Llm_SliceColumnsOp : Llm_Op<"slice_columns", [Pure, Llm_MovesElements, Llm_RowIndependent]> {
  let summary = "Columns [first, first + width) of each row";
  let arguments = (ins Llm_Activation:$input, I64Attr:$first);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input `from` $first attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_GatherRowsOp : Llm_Op<"gather_rows", [Pure, Llm_MovesElements]> {
  let summary = "result[l] = input[rows[l]]";
  let arguments = (ins Llm_Activation:$input, Llm_IndexTensor:$rows);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $rows attr-dict `:` type($input) `,` type($rows) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_PlaceRowsOp : Llm_Op<"place_rows", [Pure, Llm_MovesElements,
                                            AllTypesMatch<["rows", "result"]>]> {
  let summary = "Given rows in some places: embeddings that are mixed with those of tokens";
  let description = [{
    result[t] = given[places[t]] where places[t] >= 0, rows[t] elsewhere. A rounding point where
    `given` has another element type: it is rounded to that of `rows`, to nearest even. With `added`
    the rows are added in f32, result[t] = rows[t] + given[places[t]], and rounded likewise.

    ```mlir
    %1 = llm.place_rows %0, %given at %places
        : tensor<?x64xbf16, "T">, tensor<?x64xf32, "E">, tensor<?xi32, "T">
    ```
  }];
  let arguments = (ins Llm_Activation:$rows, Llm_Activation:$given, Llm_IndexTensor:$places,
                       UnitAttr:$added);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $rows `,` $given `at` $places (`added` $added^)? attr-dict
    `:` type($rows) `,` type($given) `,` type($places)
  }];
  let hasVerifier = 1;
}

def Llm_JoinRowsOp : Llm_Op<"join_rows", [Pure, Llm_MovesElements]> {
  let summary = "Some rows after each other as one wider row: a view of the same memory";
  let description = [{
    With k rows of the input for one of the result, which has k times its columns:
    result[t] = input[t * k], ..., input[t * k + k - 1]. No kernel runs for it.

    ```mlir
    %1 = llm.join_rows %0 : tensor<?x48xf32, "E * 4"> -> tensor<?x192xf32, "E">
    ```
  }];
  let arguments = (ins Llm_Activation:$input);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_SplitRowsOp : Llm_Op<"split_rows", [Pure, Llm_MovesElements]> {
  let summary = "The reverse of llm.join_rows: parts of a row as rows, a view of the same memory";
  let description = [{
    ```mlir
    %1 = llm.split_rows %0 : tensor<?x192xf32, "E"> -> tensor<?x48xf32, "E * 4">
    ```
  }];
  let arguments = (ins Llm_Activation:$input);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Llm_GatherColumnsOp : Llm_Op<"gather_columns", [Pure, Llm_MovesElements, Llm_RowIndependent]> {
  let summary = "result[t,k] = input[t, columns[k]]: what a weight with reordered columns reads";
  let arguments = (ins Llm_Activation:$input, Llm_IndexTensor:$columns);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $columns attr-dict `:` type($input) `,` type($columns) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_BoundaryOp : Llm_Op<"boundary", [SameOperandsAndResultType, Llm_MovesElements]> {
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
