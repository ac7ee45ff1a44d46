// SPDX-License-Identifier: Apache-2.0
// What each sampling parameter excludes.
#include "runtime/serving/TokenMask.h"

#include <algorithm>

namespace ingot::runtime {

constexpr int32_t wordBits = 32;

void TokenMask::allowOnly(std::span<const int32_t> tokens) {
  std::fill(words.begin(), words.end(), 0);
  filled = true;
  for (int32_t token : tokens)
    words[size_t(token / wordBits)] |= 1u << (token % wordBits);
}

void TokenMask::exclude(int32_t token) {
  if (!filled)
    std::fill(words.begin(), words.end(), ~0u);
  filled = true;
  words[size_t(token / wordBits)] &= ~(1u << (token % wordBits));
}

void TokenMask::applyTo(const Sequence &sequence) {
  const SamplingParameters &sampling = sequence.sampling;
  if (!sampling.allowed.empty())
    allowOnly(sampling.allowed);
  if (sequence.generated() < sampling.minTokens)
    for (int32_t token : sequence.endTokens)
      exclude(token);
}

} // namespace ingot::runtime
