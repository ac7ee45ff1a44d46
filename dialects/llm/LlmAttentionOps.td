// SPDX-License-Identifier: Apache-2.0
// Rotary embedding, the paged KV cache, attention with and without it, and sampling.
#ifndef INGOT_DIALECTS_LLM_LLMATTENTIONOPS_TD
#define INGOT_DIALECTS_LLM_LLMATTENTIONOPS_TD

include "dialects/engine/EngineAttributes.td"
include "dialects/llm/LlmTypes.td"

def Llm_RopeOp : Llm_Op<"rope", [Pure, Llm_StoresResult, Llm_RowIndependent]> {
  let summary = "Rotary position embedding on heads of `head_dim` columns";
  let description = [{
    For each of n frequencies, n <= head_dim/2, the pair (i, i + n) of a head's columns: angle =
    f32(position) * inv_freq[i] rounded to f32, cosine and sine of that angle to f32 accuracy, both
    times `factor`. Columns from 2n on stay as they are. With `interleaved` a pair is (2i, 2i + 1).

    With `axes`, one for each of at most 128 frequencies, a row has A positions, 2 to 4: those of
    row t are positions[t * A] and after, of which frequency i takes the one at axes[i].

    ```mlir
    %1 = llm.rope %0, %p, %f head_dim 8 factor 1.0 axes [0, 1, 2, 0]
        : tensor<?x8xf32, "T">, tensor<?xi32, "T * 3">, tensor<4xf32> -> tensor<?x8xf32, "T">
    ```
  }];
  let arguments = (ins Llm_Activation:$input, Llm_IndexTensor:$positions,
                       TensorOf<[F32]>:$inv_freq, I64Attr:$head_dim, F32Attr:$factor,
                       OptionalAttr<DenseI64ArrayAttr>:$axes, UnitAttr:$interleaved);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $positions `,` $inv_freq `head_dim` $head_dim `factor` $factor (`axes` $axes^)?
    (`interleaved` $interleaved^)? attr-dict `:` type($input) `,` type($positions) `,`
    type($inv_freq) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_KvAppendOp : Llm_Op<"kv_append", [MemoryEffects<[MemRead, MemWrite]>,
                                          Llm_RowIndependent]> {
  let summary = "Writes this step's keys and values into the paged cache, in the cache's type";
  let description = [{
    Token t of sequence row s = token_sequences[t] at position p goes to block block_table[s, p /
    blockTokens], place p % blockTokens. A rounding point: 16-bit elements round to nearest even;
    8-bit ones are scaled per token and head by amax / (127 | 448 | 57344), scale 1 for zeros. With
    `static_scales`, f32 [2], all keys of an 8-bit cache have the first scale and all values the
    second, as llm.quantize_activation applies one.
  }];
  let arguments = (ins Llm_Activation:$keys, Llm_Activation:$values, Llm_IndexTensor:$positions,
                       Llm_IndexTensor:$token_sequences, Llm_IndexTensor:$block_table,
                       Llm_KvType:$cache, Optional<Llm_WeightTensor>:$static_scales);
  let assemblyFormat = [{
    $keys `,` $values `at` $positions `,` $token_sequences `,` $block_table `into` $cache
    (`static` `(` $static_scales^ `:` type($static_scales) `)`)? attr-dict
    `:` type($keys) `,` type($values) `,` type($positions) `,` type($token_sequences) `,`
    type($block_table) `,` type($cache)
  }];
  let hasVerifier = 1;
}

def Llm_LatentAppendOp : Llm_Op<"latent_append", [MemoryEffects<[MemRead, MemWrite]>,
                                                  Llm_RowIndependent]> {
  let summary = "Writes this step's latents into a latent cache, in the cache's type";
  let description = [{
    Token t of sequence row s = token_sequences[t] at position p goes where llm.kv_append puts it:
    `latent`, which are the values, then `rotary`, the columns of keys that are no values. A
    rounding point as llm.kv_append; 8-bit elements have one scale for both.
  }];
  let arguments = (ins Llm_Activation:$latent, Llm_Activation:$rotary, Llm_IndexTensor:$positions,
                       Llm_IndexTensor:$token_sequences, Llm_IndexTensor:$block_table,
                       Llm_KvType:$cache);
  let assemblyFormat = [{
    $latent `,` $rotary `at` $positions `,` $token_sequences `,` $block_table `into` $cache
    attr-dict `:` type($latent) `,` type($rotary) `,` type($positions) `,` type($token_sequences)
    `,` type($block_table) `,` type($cache)
  }];
  let hasVerifier = 1;
}

def Llm_RopeAppendOp : Llm_Op<"rope_append", [MemoryEffects<[MemRead, MemWrite]>,
                                              Llm_RowIndependent, AttrSizedOperandSegments]> {
  let summary = "Rotary embedding of q and k from one q|k|v row, and KV append, in one pass";
  let description = [{
    Columns of `qkv`: q heads, then k heads, then v heads. q is rotated into `result` as by
    llm.rope. k is rotated, rounded to `result`'s element type, and appended; v is appended as it
    is; both as by llm.kv_append. With `axes` the positions of the rotation are `rotary`.
  }];
  let arguments = (ins Llm_Activation:$qkv, Llm_IndexTensor:$positions, TensorOf<[F32]>:$inv_freq,
                       Llm_IndexTensor:$token_sequences, Llm_IndexTensor:$block_table,
                       Llm_KvType:$cache, Optional<Llm_WeightTensor>:$static_scales,
                       Optional<Llm_IndexTensor>:$rotary, F32Attr:$factor,
                       OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $qkv `at` $positions `,` $inv_freq `,` $token_sequences `,` $block_table `into` $cache
    (`static` `(` $static_scales^ `:` type($static_scales) `)`)?
    (`rotary` `(` $rotary^ `:` type($rotary) `)`)? `factor` $factor (`axes` $axes^)? attr-dict
    `:` type($qkv) `,` type($positions) `,` type($inv_freq) `,`
    type($token_sequences) `,` type($block_table) `,` type($cache) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Llm_AttentionOp : Llm_Op<"attention", [MemoryEffects<[MemRead]>, Llm_StoresResult,
                                           Llm_RowIndependent, Llm_SumsOpInterface,
                                           AttrSizedOperandSegments]> {
  let summary = "Causal attention of each token over the cached positions up to its own";
  let description = [{
    Query head h, of as many columns as a head of keys, uses KV head h / (query heads / KV heads); a
    head of the result has as many as one of values. Keys and values are read from the cache
    in its stored type, the current step's too. Softmax in f32 with a running maximum: positions are
    taken in the segments of `sums`, each segment's maximum m, sum l and weighted values v are
    formed on their own, and merged in order of the segments: (m, l, v) and the next (m', l', v')
    come to M = max(m, m'), l * exp(m - M) + l' * exp(m' - M), and v likewise. The
    result is v / l of the last. `scale` multiplies q . k. With `softcap` c a score s is then c *
    tanh(s / c). With `window` w a token attends to the last w positions only, its own among them;
    or with `chunked` to those that divided by w are its own divided by w, rounded down.

    With `sinks`, one for each query head, what the segments come to is merged with one more: m' =
    f32(sinks[h]), l' = 1, v' = 0. Neither `scale` nor `softcap` applies to a sink.

    With `reaches` token t attends up to position reaches[t] where that lies behind its own, as
    tokens of a picture do to all of it; the cache has what lies between by then. A window begins
    where it does without, and has no end.

    Over a latent cache a query head may be in two parts: of `query` the first valueDim columns, and
    of `rotary` the others, as llm.latent_append takes keys.

    With `selected` [T, K] token t attends to those positions alone that row t lists before the
    first -1 (llm.select_positions), and segments are of the list.

    With `fp8` both products have e4m3 on both sides: the query is scaled to e4m3 per token and head
    as by llm.quantize_activation; so are, after they are multiplied by the values' scales, the
    weights of each token and head over runs of 64 positions. The sum of weights is that before.
  }];
  let arguments = (ins Llm_Activation:$query, Llm_IndexTensor:$positions,
                       Llm_IndexTensor:$token_sequences, Llm_IndexTensor:$block_table,
                       Llm_KvType:$cache, Optional<Llm_Activation>:$sinks,
                       Optional<Llm_IndexTensor>:$reaches, Optional<Llm_Activation>:$rotary,
                       Optional<Llm_IndexTensor>:$selected, F32Attr:$scale,
                       OptionalAttr<I64Attr>:$window, UnitAttr:$chunked,
                       OptionalAttr<F32Attr>:$softcap, UnitAttr:$fp8,
                       OptionalAttr<Engine_SumsAttr>:$sums);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $query `at` $positions `,` $token_sequences `,` $block_table `over` $cache
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)? (`reaches` `(` $reaches^ `:` type($reaches) `)`)?
    (`rotary` `(` $rotary^ `:` type($rotary) `)`)?
    (`selected` `(` $selected^ `:` type($selected) `)`)?
    `scale` $scale (`window` $window^)? (`chunked` $chunked^)? (`softcap` $softcap^)?
    (`fp8` $fp8^)? (`sums` $sums^)? attr-dict `:` type($query) `,` type($positions) `,`
    type($token_sequences) `,` type($block_table) `,` type($cache) `->` type($result)
  }];
  let extraClassDeclaration = [{
    int64_t queryHeads();
  }];
  let hasVerifier = 1;
}

def Llm_SelectPositionsOp : Llm_Op<"select_positions", [MemoryEffects<[MemRead]>,
                                                        Llm_RowIndependent]> {
  let summary = "The positions that each token's index scores are largest at (DeepSeek-V3.2)";
  let description = [{
    A token's score of a position up to its own is the sum over its H heads, in order, of
    weights[h] * max(0, q[h] . k) * `scale`, all in f32, for the keys k of a latent cache of so many
    columns as a head of `query`. A product q . k is added in 16 parts, of columns that are equal
    modulo 16, each by fused multiply-adds in order, and the parts as a tree.

    Result row t lists the K positions of the largest scores, of equal ones the lower, and all where
    there are not so many: in ascending order, -1 behind them.

    ```mlir
    %s = llm.select_positions %q, %w at %p, %r, %b over %c scale 0.1
        : tensor<?x256xbf16, "T">, tensor<?x4xbf16, "T">, tensor<?xi32, "T">, tensor<?xi32, "T">,
          tensor<?x?xi32, "S">, !llm.kv<1 x 64 x bf16, block = 16, values = 32, latent>
          -> tensor<?x2048xi32, "T">
    ```
  }];
  let arguments = (ins Llm_Activation:$query, Llm_Activation:$weights, Llm_IndexTensor:$positions,
                       Llm_IndexTensor:$token_sequences, Llm_IndexTensor:$block_table,
                       Llm_KvType:$cache, F32Attr:$scale);
  let results = (outs Llm_IndexTensor:$selected);
  let assemblyFormat = [{
    $query `,` $weights `at` $positions `,` $token_sequences `,` $block_table `over` $cache
    `scale` $scale attr-dict `:` type($query) `,` type($weights) `,` type($positions) `,`
    type($token_sequences) `,` type($block_table) `,` type($cache) `->` type($selected)
  }];
  let hasVerifier = 1;
}

def Llm_EncoderAttentionOp : Llm_Op<"encoder_attention", [Pure, Llm_StoresResult,
                                                          Llm_SumsOpInterface]> {
  let summary = "Attention of each row over all rows of its sequence, before and behind it";
  let description = [{
    What encoders have: no cache, and no row hidden from another. Row p is of sequence s =
    sequences[p], whose rows stand together: offsets[s] to offsets[s + 1] - 1. Windows that attend
    within themselves are sequences of their own. With G `kv_heads`, `query` is [P, H * dk], `keys`
    [P, G * dk], `values` [P, G * dv] and `result` [P, H * dv]; query head h uses KV head h / (H /
    G).

    Softmax and the order of sums are those of llm.attention; a row's position is p - offsets[s], so
    that no sequence's numbers depend on another. `scale` multiplies q . k.

    ```mlir
    %1 = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.125
        : tensor<?x256xbf16, "P">, tensor<?x128xbf16, "P">, tensor<?x128xbf16, "P">,
          tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> tensor<?x256xbf16, "P">
    ```
  }];
  let arguments = (ins Llm_Activation:$query, Llm_Activation:$keys, Llm_Activation:$values,
                       Llm_IndexTensor:$sequences, Llm_IndexTensor:$offsets, I64Attr:$kv_heads,
                       F32Attr:$scale, OptionalAttr<Engine_SumsAttr>:$sums);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $query `,` $keys `,` $values `of` $sequences `,` $offsets `kv_heads` $kv_heads `scale` $scale
    (`sums` $sums^)? attr-dict `:` type($query) `,` type($keys) `,` type($values) `,`
    type($sequences) `,` type($offsets) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Columns of a head of query and keys, of a head of values and result, and query heads.
    int64_t keyDim();
    int64_t valueDim();
    int64_t queryHeads();
  }];
  let hasVerifier = 1;
}

def Llm_SampleOp : Llm_Op<"sample", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Draws one token per logit row";
  let description = [{
    Per row, on a copy of the logits: add biases, apply the allow-mask (disallowed = -inf),
    penalties from `counts` (repetition, then presence and frequency), then greedy (temperature 0:
    highest value, lowest id on ties) or: divide by temperature, top-k, softmax, typical-p, top-p,
    min-p, draw by inverse transform over ids in descending probability (ties by id) with a uniform
    from a counter-based generator keyed by (seed, step). Each filter renormalises over what is
    left. A temperature so low that the highest quotient is no finite number is greedy, and biases
    and penalties leave a finite logit finite. NaN counts as excluded; if every token is excluded
    the token is -1. Increments the drawn token's count. Log probabilities are of the unmodified
    logits, of those that the mask leaves where `useMask` is 2, and 0 where none are wanted; unused
    top entries are token -1.
    Parameters: IngotSampleParams of the kernel ABI, as 16 words a row.
  }];
  let arguments = (ins TensorOf<[F32]>:$logits, TensorOf<[I32]>:$params, TensorOf<[I32]>:$bias_ids,
                       TensorOf<[F32]>:$bias_values, TensorOf<[I32]>:$allow_mask,
                       Llm_StateType:$counts);
  let results = (outs TensorOf<[I32]>:$tokens, TensorOf<[F32]>:$logprobs,
                      TensorOf<[I32]>:$top_tokens, TensorOf<[F32]>:$top_logprobs);
  let assemblyFormat = [{
    $logits `,` $params `,` $bias_ids `,` $bias_values `,` $allow_mask `,` $counts attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif
