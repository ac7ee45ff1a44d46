// SPDX-License-Identifier: Apache-2.0
// Round to nearest: each weight by itself, with scales of the groups' ranges.
#pragma once

#include "compiler/quantize/methods/Grid.h"

namespace ingot::quantize {

/// `weight` [rows, columns] rounded to nearest even. The scale of a group is, without a search of
/// the range, absmax * 2 / (2^bits - 1), or (most - least) / (2^bits - 1) with zero points, rounded
/// to the scale type; 0 is in every range. `importance` weighs the squared errors of columns while
/// the range is searched: [columns], or empty. Scratch: 8 bytes a column and thread.
/// Refuses weights that are not finite.
Expected<QuantizedMatrix> roundToNearest(const float *weight, int64_t rows, int64_t columns,
                                         const Grid &grid, const ClipSearch &clip,
                                         std::span<const float> importance, unsigned threads);

/// A matrix of this shape whose scales (and zeros) are fitted, and whose codes are all 0.
/// The arguments were checked.
QuantizedMatrix fitScales(const float *weight, int64_t rows, int64_t columns, const Grid &grid,
                          const ClipSearch &clip, std::span<const float> importance,
                          unsigned threads);

} // namespace ingot::quantize
