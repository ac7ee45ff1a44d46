// SPDX-License-Identifier: Apache-2.0
// What the numbers of matrices and of rows are like.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"

#include <optional>
#include <span>
#include <vector>

namespace ingot::quantize {

/// The numbers of a matrix of the checkpoint.
struct MatrixRange {
  std::string name; ///< the stored tensor's
  double least = 0, most = 0, deviation = 0;
};

/// What a part of the engine is given.
struct InputRange {
  double largest = 0; ///< magnitude
  double p999 = 0;    ///< the 99.9th percentile of all magnitudes
  int64_t channels = 0;
  int64_t outliers = 0; ///< channels whose largest magnitude is over 6 times these' median
};

/// The range of a stored matrix, read in pieces; nothing for one that is stored quantized. Errors:
/// those of Checkpoint.
checkpoint::Expected<std::optional<MatrixRange>> rangeOf(const checkpoint::Checkpoint &model,
                                                         const std::string &tensor);

/// Magnitudes of rows, which stay in memory.
class InputRows {
public:
  explicit InputRows(int64_t channels) : most(static_cast<size_t>(channels)) {}
  /// Whole rows.
  void add(std::span<const float> rows);
  InputRange range() &&;

private:
  std::vector<float> magnitudes, most; ///< most: by channel
};

} // namespace ingot::quantize
