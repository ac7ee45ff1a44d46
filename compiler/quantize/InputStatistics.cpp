// SPDX-License-Identifier: Apache-2.0
// Sums over rows as they come, so that memory does not grow with the text.
#include "compiler/quantize/InputStatistics.h"

#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::quantize;

/// Leaves every other row [columns] of `rows`.
static void halve(std::vector<float> &rows, size_t columns) {
  size_t kept = 0;
  for (size_t row = 0; row < rows.size(); row += 2 * columns, kept += columns)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row), columns,
                rows.begin() + static_cast<std::ptrdiff_t>(kept));
  rows.resize(kept);
}

void InputStatistics::add(std::span<const float> rows, std::span<const float> original,
                          unsigned threads) {
  const auto columns = static_cast<size_t>(moments.columns());
  int64_t met = moments.count();
  const auto count = static_cast<int64_t>(rows.size() / columns);
  if (original.empty())
    moments.add(rows.data(), count, threads);
  else
    moments.add(rows.data(), original.data(), count, threads);
  magnitudes.resize(columns);
  most.resize(columns);
  for (size_t first = 0; first < rows.size(); first += columns, ++met) {
    const auto values = rows.subspan(first, columns);
    for (size_t i = 0; i < columns; ++i)
      magnitudes[i] += std::abs(values[i]);
    widenMagnitudes(most.data(), values.data(), moments.columns());
    if (met % stride != 0)
      continue;
    sampled.insert(sampled.end(), values.begin(), values.end());
    if (sampled.size() == 2 * kSampledRows * columns) {
      halve(sampled, columns);
      stride *= 2;
    }
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

ExpertRows quantize::rowsOfExpert(int64_t expert, int64_t perToken, bool hasTokens, int64_t columns,
                                  const TappedRows &own, const TappedRows *original) {
  const auto number = static_cast<float>(expert);
  const auto width = static_cast<size_t>(columns), each = static_cast<size_t>(perToken);
  /// The row of the input that is read for the row `routed` of the routing.
  auto rowAt = [&](const TappedRows &of, size_t routed) {
    return of.rows.subspan((hasTokens ? routed / each : routed) * width, width);
  };
  ExpertRows result;
  auto append = [](std::vector<float> &rows, std::span<const float> row) {
    rows.insert(rows.end(), row.begin(), row.end());
  };
  for (size_t routed = 0; routed < own.experts.size(); ++routed) {
    if (own.experts[routed] != number)
      continue;
    append(result.rows, rowAt(own, routed));
    if (!original)
      continue;
    const size_t first = routed / each * each;
    const auto token = original->experts.subspan(first, each);
    const auto found = static_cast<size_t>(std::ranges::find(token, number) - token.begin());
    append(result.original, hasTokens || found < each
                                ? rowAt(*original, first + std::min(found, each - 1))
                                : rowAt(own, routed));
  }
  return result;
}
