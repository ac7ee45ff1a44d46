// SPDX-License-Identifier: Apache-2.0
// What is kept of the inputs of a group of products, and which rows are an expert's.
#pragma once

#include "compiler/quantize/methods/Moments.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::quantize {

/// Rows of each product's input that searches read: at least so many where there are as many, and
/// fewer than twice as many. Four times as many take four times as long.
inline constexpr int64_t kSampledRows = 1024;

/// What inputs of a group of products were.
struct InputStatistics {
  Moments moments;
  std::vector<double> magnitudes = {}; ///< sums of |x| of each column
  std::vector<float> most = {};        ///< largest |x| of each column
  /// Largest |x| of all rows that were there, also those that other experts read.
  float mostOfAll = 0;
  std::vector<float> sampled = {}; ///< every `stride`-th row [count, columns]
  int64_t stride = 1;

  /// Adds rows [count, columns]; `original`: what the unquantized model has in their places, or
  /// empty.
  void add(std::span<const float> rows, std::span<const float> original, unsigned threads);
  /// Means of |x| of each column.
  std::vector<float> meanMagnitudes() const;
  int64_t sampledRows() const { return static_cast<int64_t>(sampled.size()) / moments.columns(); }
  /// Moments, maxima and the sample as if each column had been divided by its scale.
  void divideColumns(std::span<const float> scales);
};

/// A tap's rows, and where they are routed to experts the expert of each row of the routing.
struct TappedRows {
  std::span<const float> rows, experts;
};

struct ExpertRows {
  std::vector<float> rows, original;
};

/// The rows [count, columns] that `expert` reads, each with what `original` has for that token, or
/// where it did not send it to the expert with itself; without `original` these are empty. A token
/// has `perToken` rows of the routing, and one in `rows` itself with `hasTokens`.
ExpertRows rowsOfExpert(int64_t expert, int64_t perToken, bool hasTokens, int64_t columns,
                        const TappedRows &own, const TappedRows *original);

} // namespace ingot::quantize
