// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of tokens, as events and sequences hold them.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot::runtime {

struct TokenLogprob {
  int32_t token;
  float logprob;
};

/// A token of a prompt. The first one, which nothing comes before, has no alternatives and 0.
struct PromptLogprob {
  int32_t token;
  float logprob = 0; ///< given the tokens before it; minus infinity where it cannot come
  std::vector<TokenLogprob> top; ///< the likeliest at its place, best first
};

} // namespace ingot::runtime
