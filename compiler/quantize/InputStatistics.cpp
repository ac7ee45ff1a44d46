// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over rows.
#include "compiler/quantize/InputStatistics.h"

#include "compiler/quantize/methods/Rounding.h"

#include <cmath>

using namespace ingot;
using namespace ingot::quantize;

void InputStatistics::add(std::span<const float> rows, std::span<const float> original,
                          int64_t stride, unsigned threads) {
  const int64_t columns = moments.columns();
  const auto count = static_cast<int64_t>(rows.size()) / columns;
  if (original.empty())
    moments.add(rows.data(), count, threads);
  else
    moments.add(rows.data(), original.data(), count, threads);
  magnitudes.resize(static_cast<size_t>(columns));
  most.resize(static_cast<size_t>(columns));
  for (int64_t row = 0; row < count; ++row) {
    const auto values =
        rows.subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns));
    for (size_t i = 0; i < values.size(); ++i)
      magnitudes[i] += std::abs(values[i]);
    widenMagnitudes(most.data(), values.data(), columns);
    if (row % stride == 0)
      sampled.insert(sampled.end(), values.begin(), values.end());
  }
}

std::vector<float> InputStatistics::meanMagnitudes() const {
  std::vector<float> means;
  for (double sum : magnitudes)
    means.push_back(static_cast<float>(sum / static_cast<double>(moments.count())));
  return means;
}

void InputStatistics::divideColumns(std::span<const float> scales) {
  moments.divideColumns(scales);
  for (size_t i = 0; i < most.size(); ++i)
    most[i] /= scales[i];
  for (size_t i = 0; i < sampled.size(); ++i)
    sampled[i] /= scales[i % scales.size()];
}
