// SPDX-License-Identifier: Apache-2.0
// What a request asks of sampling and of the end of its text.
#pragma once

#include "runtime/core/Status.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

struct SamplingParameters {
  float temperature = 0;       ///< 0 = greedy
  int32_t topK = 0;            ///< 0 = off
  float topP = 1;              ///< 1 = off
  float minP = 0;              ///< 0 = off
  float typicalP = 1;          ///< 1 = off
  float repetitionPenalty = 1; ///< 1 = off; over prompt and generated tokens
  float presencePenalty = 0;   ///< over generated tokens
  float frequencyPenalty = 0;  ///< over generated tokens
  uint64_t seed = 0;
  int32_t logprobs = -1;       ///< -1 = none, otherwise how many alternatives, at most 20
  int32_t promptLogprobs = -1; ///< the same for the prompt's tokens
  std::vector<std::pair<int32_t, float>> bias; ///< token, added to its logit; at most 304
  std::vector<int32_t> allowed; ///< when not empty, the only tokens that may be drawn
  /// Texts that may not come, as the tokens that spell them alone and behind a space; and sequences
  /// of tokens. At most 1024 of each, of at most 1024 bytes or 128 tokens.
  std::vector<std::string> badWords;
  std::vector<std::vector<int32_t>> badSequences;
  /// Above 0: no run of so many tokens occurs twice in prompt and answer.
  int32_t noRepeatNgramSize = 0;

  bool hasForm = false; ///< the answer has a constraint; set by Session::prepare

  int64_t maxTokens = 0; ///< generated tokens; 0 = up to the context
  int64_t minTokens = 0; ///< before so many, no end or stop token is drawn and no stop string found
  bool ignoreEos = false;
  std::vector<int32_t> stopTokens;
  std::vector<std::string> stopStrings; ///< at most 64 of at most 1024 bytes
  bool includeStop = false; ///< what ends the answer, stop string or token, is part of its text

  bool usesCounts() const {
    return repetitionPenalty != 1 || presencePenalty != 0 || frequencyPenalty != 0;
  }
  /// Whether some token may not be drawn at some place.
  bool usesMask() const {
    return hasForm || !allowed.empty() || minTokens > 0 || !badWords.empty() ||
           !badSequences.empty() || noRepeatNgramSize > 0;
  }
  /// Whether which ones depends on the tokens before, so that those must be known; of a form its
  /// constraint tells that.
  bool masksByTokens() const {
    return noRepeatNgramSize > 0 ||
           std::any_of(badSequences.begin(), badSequences.end(),
                       [](const std::vector<int32_t> &tokens) { return tokens.size() > 1; });
  }

  /// Something nobody foresees, for a request that names no seed; below 2^53, so that every reader
  /// of JSON keeps it.
  static uint64_t randomSeed();

  /// INGOT-E6006 names the first value outside its range.
  Status validate(uint32_t vocabulary) const;
};

} // namespace ingot::runtime
