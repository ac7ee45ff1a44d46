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

#endif
