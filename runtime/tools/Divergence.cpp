// SPDX-License-Identifier: Apache-2.0
// The sums of comparisons.
#include "runtime/tools/Divergence.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ingot::runtime {

namespace {

constexpr size_t kFew = 5;

/// The places of the largest values, the first of equal ones first.
std::array<size_t, kFew> largest(std::span<const float> values) {
  std::array<size_t, kFew> places;
  size_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (count == kFew && !(values[i] > values[places.back()]))
      continue;
    size_t place = count < kFew ? count++ : kFew - 1;
    for (; place > 0 && values[i] > values[places[place - 1]]; --place)
      places[place] = places[place - 1];
    places[place] = i;
  }
  std::fill(places.begin() + std::ptrdiff_t(count), places.end(), values.size());
  return places;
}

} // namespace

std::vector<float> logSoftmax(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - double(most));
  const double norm = double(most) + std::log(sum);
  std::vector<float> result(logits.size());
  std::transform(logits.begin(), logits.end(), result.begin(),
                 [&](float logit) { return float(double(logit) - norm); });
  return result;
}

void Divergence::add(std::span<const float> base, std::span<const float> own, int32_t target,
                     float least) {
  double divergence = 0;
  for (size_t i = 0; i < base.size(); ++i)
    if (base[i] > least)
      divergence += std::exp(double(base[i])) * (double(base[i]) - double(own[i]));
  values.push_back(float(divergence));
  baseLoss -= double(base[size_t(target)]);
  const auto wanted = largest(base), found = largest(own);
  sameTop += wanted[0] == found[0];
  few = std::min(kFew, base.size());
  for (size_t i = 0; i < few; ++i)
    sameFive += std::count(found.begin(), found.begin() + std::ptrdiff_t(few), wanted[i]) != 0;
}

nlohmann::json Divergence::summary() const {
  const auto count = double(values.size());
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += double(value);
    squares += double(value) * double(value);
  }
  const double mean = sum / count;
  std::vector<float> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = size_t(std::ceil(0.99 * count)) - 1;
  return {{"mean", mean},
          {"standard_error",
           count < 2 ? 0 : std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1))},
          {"p99", sorted[rank]},
          {"largest", sorted.back()},
          {"same_top", double(sameTop) / count},
          {"same_top5", double(sameFive) / (count * double(few))},
          {"base_perplexity", std::exp(baseLoss / count)}};
}

std::string Divergence::text() const {
  const nlohmann::json known = summary();
  auto number = [&](const char *key) { return known[key].get<double>(); };
  std::array<char, 256> line;
  const int size = std::snprintf(
      line.data(), line.size(),
      "KL divergence %.6f +/- %.6f (99 %% of tokens up to %.6f, the largest %.6f)\n"
      "same likeliest token %.2f %%, same five %.2f %%; perplexity of the base %.6f\n",
      number("mean"), number("standard_error"), number("p99"), number("largest"),
      100 * number("same_top"), 100 * number("same_top5"), number("base_perplexity"));
  return std::string(line.data(), size_t(size));
}

} // namespace ingot::runtime
