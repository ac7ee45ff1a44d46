// SPDX-License-Identifier: Apache-2.0
// How far an engine's distributions over the next token are from others': Kullback-Leibler
// divergence and agreement on the likeliest tokens.
#pragma once

#include "runtime/tools/EngineSummary.h"

#include <span>
#include <vector>

namespace ingot::runtime {

/// Sums over tokens. A distribution is its log-probabilities in f32, one for each token of the
/// vocabulary.
class Divergence {
public:
  /// Adds a position. `base`: what `own`, of the engine, is compared with; those of at most `least`
  /// take no part in the sum. `target`: the token that follows.
  void add(std::span<const float> base, std::span<const float> own, int32_t target, float least);

  /// {"mean", "standard_error", "p99", "largest", "same_top", "same_top5", "base_perplexity"}: the
  /// mean of sum(p_base * ln(p_base / p)) in nats, the 99th percentile and the largest; the part of
  /// positions with the same likeliest token, of the base's five likeliest that are among the
  /// engine's five; exp of the base's mean negative log-likelihood.
  nlohmann::json summary() const;
  /// The same as a line for people.
  std::string text() const;

private:
  std::vector<float> values; ///< of each position
  double baseLoss = 0;
  size_t sameTop = 0, sameFive = 0, few = 1; ///< few: five, or the whole vocabulary
};

/// Log-probabilities of `logits`.
std::vector<float> logSoftmax(std::span<const float> logits);

} // namespace ingot::runtime
