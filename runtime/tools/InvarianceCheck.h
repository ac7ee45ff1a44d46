// SPDX-License-Identifier: Apache-2.0
// Self-tests of what needs no recorded numbers: results depend on neither the batch nor the steps.
#pragma once

#include "runtime/serving/Session.h"
#include "runtime/tools/Verdict.h"

namespace ingot::runtime {

using Tokens = std::vector<int32_t>;

/// One generated token.
struct Generated {
  int32_t token;
  float logprob;                 ///< NaN where the engine has none
  std::vector<TokenLogprob> top; ///< likewise empty
};
using Continuation = std::vector<Generated>;

/// The most that checks compute; the engine's limits cut each of it.
struct CheckSizes {
  int64_t sequences;    ///< in a batch
  int64_t alone;        ///< of these, how many are computed again one by one
  int64_t promptTokens; ///< of the prompt that is computed in different steps
  int64_t generated;    ///< tokens that follow a prompt

  /// These, with at most `tokens` of a prompt and of what follows it.
  CheckSizes within(int64_t tokens) const;
};
/// Seconds for 32 billion parameters on a GPU; seconds for millions on a CPU or in the simulator.
inline constexpr CheckSizes kGpuSizes = {64, 64, 512, 8}, kHostSizes = {16, 3, 64, 8};

/// Greedy continuations of all prompts, `lengths` tokens each, run together, with log-probabilities
/// where the engine has them. `cachePrompts`: from what the KV cache has of them already.
Result<std::vector<Continuation>> continueGreedily(Session &session,
                                                   const std::vector<Tokens> &prompts,
                                                   const std::vector<int64_t> &lengths,
                                                   bool cachePrompts = false);

/// Prompts of many lengths in one batch, which shrinks as they end, beside each of them alone:
/// tokens and log-probabilities must be equal bit for bit.
Status checkBatches(Session &session, const CheckSizes &sizes, Verdict &verdict);

/// A prompt that the KV cache holds, continued twice at once, beside the same computed as a whole:
/// tokens and log-probabilities must be equal bit for bit.
Status checkReuse(Session &session, const CheckSizes &sizes, Verdict &verdict);

/// A prompt in as few steps as the limits allow, in uneven small ones, and in those that give
/// logits at all positions: the logits of a position must be equal bit for bit.
Status checkSteps(Session &session, const CheckSizes &sizes, Verdict &verdict);

} // namespace ingot::runtime
