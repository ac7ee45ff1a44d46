// SPDX-License-Identifier: Apache-2.0
// How far one distribution over the next token is from another.
#pragma once

#include <span>
#include <vector>

namespace ingot::quantize {

/// Log-probabilities of `logits`, in f64.
void logSoftmax(std::span<const float> logits, std::vector<double> &out);

/// The Kullback-Leibler divergence in nats from `base` to `own`: log-probabilities of the same
/// tokens.
double divergenceOf(std::span<const double> own, std::span<const double> base);

} // namespace ingot::quantize
