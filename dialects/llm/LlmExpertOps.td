// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: which experts a token goes to, its rows sorted by expert, and their sum. The
// products in between are llm.matmul with `groups`.
#ifndef INGOT_DIALECTS_LLM_LLMEXPERTOPS_TD
#define INGOT_DIALECTS_LLM_LLMEXPERTOPS_TD

include "dialects/engine/EngineAttributes.td"
include "dialects/llm/LlmTypes.td"

def Llm_RouteOp : Llm_Op<"route", [Pure, Llm_RowIndependent]> {
  let summary = "The experts of each token, and how much each of them counts";
  let description = [{
    Row t of `logits` has a number for each expert. The score of an expert is its part of the
    softmax over all experts, or with `sigmoid` 1 / (1 + e^-logit). Rows t * top_k to
    t * top_k + top_k - 1 of the results are the experts with the largest choices, the largest first
    and of equal ones the lower index, with their scores as weights. An expert's choice is its score
    plus its number of `bias`; without one its logit.

    With `groups` [count, kept, best] experts are `count` equal runs. Of these the `kept` with the
    largest sums of their `best` largest choices are considered, of equal ones the lower index; sums
    begin with the largest. With `normalize` the weights are divided by their sum plus `epsilon`.
    They are then multiplied by `scale`.

    In f32. Softmax: e^(logit - maximum); its sum is formed of 32 sums, of the experts with equal
    index modulo 32 in order, added in order. With `normalize`, and neither bias nor groups, weights
    are not divided by that sum. The sum of weights is formed in their order.

    ```mlir
    %w, %e = llm.route %l normalize : tensor<?x8xf32, "T">
        -> tensor<?xf32, "T * 2">, tensor<?xi32, "T * 2">
    ```
  }];
  let arguments = (ins Llm_Activation:$logits, Optional<Llm_WeightTensor>:$bias, UnitAttr:$sigmoid,
                       OptionalAttr<DenseI64ArrayAttr>:$groups, UnitAttr:$normalize,
                       DefaultValuedAttr<F32Attr, "0.0">:$epsilon,
                       DefaultValuedAttr<F32Attr, "1.0">:$scale);
  let results = (outs TensorOf<[F32]>:$weights, Llm_IndexTensor:$experts);
  let extraClassDeclaration = [{
    /// Experts of a token.
    int64_t topK();
  }];
  let assemblyFormat = [{
    $logits (`bias` `(` $bias^ `:` type($bias) `)`)? (`sigmoid` $sigmoid^)? (`groups` $groups^)?
    (`normalize` $normalize^)? (`epsilon` $epsilon^)? (`scale` $scale^)? attr-dict
    `:` type($logits) `->` type($weights) `,` type($experts)
  }];
  let hasVerifier = 1;
}

def Llm_GroupRowsOp : Llm_Op<"group_rows", [Pure]> {
  let summary = "Rows sorted by expert";
  let description = [{
    `order` has the indices of `experts` sorted by their expert, equal ones in order; those of
    expert e stand from starts[e] up to starts[e + 1].

    ```mlir
    %o, %s = llm.group_rows %e : tensor<?xi32, "T * 2"> -> tensor<?xi32, "T * 2">, tensor<9xi32>
    ```
  }];
  let arguments = (ins Llm_IndexTensor:$experts);
  let results = (outs Llm_IndexTensor:$order, Llm_IndexTensor:$starts);
  let assemblyFormat = [{
    $experts attr-dict `:` type($experts) `->` type($order) `,` type($starts)
  }];
  let hasVerifier = 1;
}

def Llm_CombineOp : Llm_Op<"combine", [Pure, Llm_StoresResult, Llm_RowIndependent,
                                       Llm_SumsOpInterface]> {
  let summary = "The sum of each token's rows, weighted or not";
  let description = [{
    With k rows of the input for one of the result: result[t] = sum over s < k of weights[t * k + s]
    * input[t * k + s], in f32 and in the order that `sums` says; without weights they are 1.
  }];
  let arguments = (ins Llm_Activation:$input, Optional<TensorOf<[F32]>>:$weights,
                       OptionalAttr<Engine_SumsAttr>:$sums);
  let results = (outs Llm_Activation:$result);
  let assemblyFormat = [{
    $input (`,` $weights^)? (`sums` $sums^)? attr-dict
    `:` type($input) (`,` type($weights)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
