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

void TokenMask::excludeOutside(std::span<const uint32_t> others) {
  if (!filled)
    std::fill(words.begin(), words.end(), ~0u);
  filled = true;
  for (size_t i = 0; i < words.size(); ++i)
    words[i] &= others[i];
}

void TokenMask::exclude(int32_t token) {
  if (!filled)
    std::fill(words.begin(), words.end(), ~0u);
  filled = true;
  words[size_t(token / wordBits)] &= ~(1u << (token % wordBits));
}

void TokenMask::excludeRepeats(std::span<const int32_t> tokens, size_t length) {
  if (tokens.size() < length)
    return;
  std::span<const int32_t> last = tokens.last(length - 1);
  for (size_t i = 0; i + length <= tokens.size(); ++i)
    if (std::equal(last.begin(), last.end(), tokens.begin() + ptrdiff_t(i)))
      exclude(tokens[i + length - 1]);
}

bool TokenMask::leavesNone(int64_t vocabulary) const {
  if (!filled)
    return false;
  size_t whole = size_t(vocabulary / wordBits);
  uint32_t rest = (1u << (vocabulary % wordBits)) - 1;
  return std::all_of(words.begin(), words.begin() + ptrdiff_t(whole),
                     [](uint32_t word) { return word == 0; }) &&
         (rest == 0 || (words[whole] & rest) == 0);
}

/// Whether `tokens` end with all but the last of `sequence`.
static bool completes(std::span<const int32_t> tokens, std::span<const int32_t> sequence) {
  std::span<const int32_t> rest = sequence.first(sequence.size() - 1);
  return tokens.size() >= rest.size() &&
         std::equal(rest.begin(), rest.end(), tokens.end() - ptrdiff_t(rest.size()));
}

void TokenMask::applyTo(Sequence &sequence) {
  const SamplingParameters &sampling = sequence.sampling;
  std::span<const uint32_t> form;
  bool insists = false;
  if (sequence.isMasked()) {
    const Result<std::span<const uint32_t>> allowed = sequence.constraint->mask();
    if (!allowed.ok()) // nothing may come
      return allowOnly(std::span<const int32_t>());
    form = *allowed;
    insists = sequence.constraint->insists();
  }
  // Where nothing but the end may come, or that of a thought, all else that is asked of the answer
  // has no say.
  if (!sampling.allowed.empty() && !insists)
    allowOnly(sampling.allowed);
  if (!form.empty())
    excludeOutside(form);
  if (insists)
    return;
  if (sequence.generated() < sampling.minTokens)
    for (int32_t token : sequence.endTokens)
      exclude(token);
  std::span<const int32_t> answer =
      std::span(sequence.tokens).subspan(size_t(sequence.promptTokens));
  for (const std::vector<int32_t> &bad : sampling.badSequences)
    if (completes(answer, bad))
      exclude(bad.back());
  if (sampling.noRepeatNgramSize > 0)
    excludeRepeats(sequence.tokens, size_t(sampling.noRepeatNgramSize));
}

} // namespace ingot::runtime
