// SPDX-License-Identifier: Apache-2.0
// Sums in f64, in the order of tokens.
#include "compiler/quantize/Divergence.h"

#include <algorithm>
#include <cmath>

namespace ingot::quantize {

void logSoftmax(std::span<const float> logits, std::vector<double> &out) {
  const auto largest = double(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  const double normalizer = largest + std::log(sum);
  out.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    out[i] = double(logits[i]) - normalizer;
}

double divergenceOf(std::span<const double> own, std::span<const double> base) {
  double divergence = 0;
  for (size_t i = 0; i < base.size(); ++i)
    divergence += std::exp(base[i]) * (base[i] - own[i]);
  return divergence;
}

} // namespace ingot::quantize
