// SPDX-License-Identifier: Apache-2.0
// What carries state from one token of a sequence to the next.
#ifndef INGOT_DIALECTS_LLM_LLMSTATEOPS_TD
#define INGOT_DIALECTS_LLM_LLMSTATEOPS_TD

include "dialects/llm/LlmTypes.td"

def Llm_CausalConvOp : Llm_Op<"causal_conv", [MemoryEffects<[MemRead, MemWrite]>,
                                              Llm_StoresResult]> {
  let summary = "Causal depthwise convolution along each sequence";
  let description = [{
    Rows of `input` [T, C] from sequence_offsets[s] to sequence_offsets[s + 1] are the tokens of
    sequence row s, in the order of their positions. With `weight` [C, K] a token at position p has
    in column c of the result the sum over j = 0 ... K - 1, in this order, of weight[c, j] * u(p - K
    + 1 + j, c), then `bias`[c], where there is one, added; u is the input rounded to the state's
    element type, and 0 before position 0.

    A row of `state` [K - 1, C] is u at the last K - 1 positions, the last one last.
  }];
  let arguments = (ins Llm_Activation:$input, Llm_IndexTensor:$positions,
      Llm_IndexTensor:$sequence_offsets, Llm_IndexTensor:$block_table, Llm_StateType:$state,
      Llm_WeightTensor:$weight, Optional<Llm_WeightTensor>:$bias);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `at` $positions `,` $sequence_offsets `,` $block_table `with` $state `by` $weight
    (`bias` `(` $bias^ `:` type($bias) `)`)? attr-dict `:` type($input) `,` type($positions) `,`
    type($sequence_offsets) `,` type($block_table) `,` type($state) `,` type($weight) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def Llm_GatedDeltaRuleOp : Llm_Op<"gated_delta_rule", [MemoryEffects<[MemRead, MemWrite]>,
                                                       Llm_StoresResult]> {
  let summary = "Gated delta rule along each sequence";
  let description = [{
    Heads of linear attention with a matrix as state (arXiv 2412.06464). Rows of `input` are, side
    by side, q and k of `key_heads` heads of K columns and v of `value_heads` heads of V columns;
    value head h reads key head h / (value_heads / key_heads). Sequences and their rows are those
    of llm.causal_conv. In f32, for a token and value head, with the columns `decay` a and `gate` b
    of that head, `log_decay` A and `decay_bias` d:

      q' = q / sqrt(sum q^2 + epsilon) / sqrt(K),  k' = k / sqrt(sum k^2 + epsilon)
      g = -exp(A) * log(1 + exp(a + d)),  beta = 1 / (1 + exp(-b))
      S <- exp(g) S;  u = beta (v - S^T k');  S <- S + k' u^T;  result = S^T q'

    S [K, V] is zeros before position 0. That is computed by chunks, of C = `block` of the state's
    type, which begin at multiples of C. In a chunk G_i = g_0 + ... + g_i, from its first position
    on, S is that before the chunk, D_ij = exp(G_i - G_j), sums over columns or j ascend, and 0
    stands for any such exp below 2^-100, which nothing would tell from it:

      u_i = beta_i (v_i - (exp(G_i) S^T k'_i + sum over j < i of D_ij (k'_i . k'_j) u_j))
      result_i = exp(G_i) S^T q'_i + sum over j <= i of D_ij (q'_i . k'_j) u_j
      next S = exp(G_last) S + sum over j of (exp(G_last - G_j) k'_j) u_j^T

    All rows have this form, so bits do not depend on how a step cuts a sequence. A row of `state`
    is what a chunk holds, f32: S before it [value_heads, K, V], then of its positions up to the
    token k' [key_heads, K, C], G [value_heads, C] and u [value_heads, C, V].
  }];
  let arguments = (ins Llm_Activation:$input, Llm_Activation:$decay, Llm_Activation:$gate,
      Llm_IndexTensor:$positions, Llm_IndexTensor:$sequence_offsets, Llm_IndexTensor:$block_table,
      Llm_StateType:$state, Llm_WeightTensor:$log_decay, Llm_WeightTensor:$decay_bias,
      I64Attr:$key_heads, I64Attr:$value_heads, F32Attr:$epsilon);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $decay `,` $gate `at` $positions `,` $sequence_offsets `,` $block_table `with` $state
    `decay` $log_decay `,` $decay_bias `heads` $key_heads `,` $value_heads `epsilon` $epsilon
    attr-dict `:` type($input) `,` type($decay) `,` type($gate) `,` type($positions) `,`
    type($sequence_offsets) `,` type($block_table) `,` type($state) `,` type($log_decay) `,`
    type($decay_bias) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// K and V: columns of a head of q and k, and of one of v.
    int64_t keyDim();
    int64_t valueDim();
    /// Numbers of a row of state with such heads and chunks of `chunk` positions.
    static int64_t stateElements(int64_t keyHeads, int64_t valueHeads, int64_t keyDim,
                                 int64_t valueDim, int64_t chunk);
  }];
}

def Llm_StateSpaceOp : Llm_Op<"state_space", [MemoryEffects<[MemRead, MemWrite]>,
                                              Llm_StoresResult]> {
  let summary = "Selective state space along each sequence";
  let description = [{
    The recurrence of Mamba-2 (arXiv 2405.21060). Rows of `input` are, side by side, x of
    `value_heads` heads of V columns, and B and C of `key_heads` groups of K columns; head h reads
    group h / (value_heads / key_heads). Sequences and their rows are those of llm.causal_conv. In
    f32, for a token and head, with the column `delta` a of that head, `log_decay` A,
    `delta_bias` d and `skip` D:

      t = log(1 + exp(a + d)), within `least` to `most`;  g = -exp(A) * t
      S <- exp(g) S + B (t x)^T;  result = S^T C + D x

    S [K, V] is zeros before position 0. It is computed by chunks, as llm.gated_delta_rule is, whose
    k', q' and u are B, C and t x here:

      result_i = exp(G_i) S^T C_i + sum over j <= i of D_ij (C_i . B_j) u_j + D x_i
      next S = exp(G_last) S + sum over j of (exp(G_last - G_j) B_j) u_j^T

    and a row of `state` is like that operation's.
  }];
  let arguments = (ins Llm_Activation:$input, Llm_Activation:$delta, Llm_WeightTensor:$skip,
      Llm_IndexTensor:$positions, Llm_IndexTensor:$sequence_offsets, Llm_IndexTensor:$block_table,
      Llm_StateType:$state, Llm_WeightTensor:$log_decay, Llm_WeightTensor:$delta_bias,
      I64Attr:$key_heads, I64Attr:$value_heads, F32Attr:$least, F32Attr:$most);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input `,` $delta `at` $positions `,` $sequence_offsets `,` $block_table `with` $state
    `decay` $log_decay `,` $delta_bias `skip` $skip `heads` $key_heads `,` $value_heads
    `within` $least `,` $most attr-dict `:` type($input) `,` type($delta) `,` type($positions) `,`
    type($sequence_offsets) `,` type($block_table) `,` type($state) `,` type($log_decay) `,`
    type($delta_bias) `,` type($skip) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// K and V: columns of a group of B and C, and of a head of x.
    int64_t keyDim();
    int64_t valueDim();
  }];
}

#endif
