// SPDX-License-Identifier: Apache-2.0
// What calibration knows of the input of a group of products.
#pragma once

#include "compiler/quantize/methods/Moments.h"

namespace ingot::quantize {

struct InputStatistics {
  Moments moments;
  std::vector<double> magnitudes; ///< sums of |x| of each column
  std::vector<float> most;        ///< largest |x| of each column
  std::vector<float> sampled;     ///< some rows [count, columns]

  /// Adds rows [count, columns] of a sequence, every `stride`-th of them to the sample; `original`:
  /// what the unquantized model has in their places, or empty.
  void add(std::span<const float> rows, std::span<const float> original, int64_t stride,
           unsigned threads);
  /// Means of |x| of each column.
  std::vector<float> meanMagnitudes() const;
  int64_t sampledRows() const { return static_cast<int64_t>(sampled.size()) / moments.columns(); }
  /// Moments, maxima and the sample as if each column had been divided by its scale.
  void divideColumns(std::span<const float> scales);
};

} // namespace ingot::quantize
