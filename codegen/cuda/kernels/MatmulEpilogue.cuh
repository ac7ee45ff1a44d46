// SPDX-License-Identifier: Apache-2.0
// What all matmul templates share: their buffers by meaning, and the end of an element's way from
// its sum to the result.
#pragma once

#include "Encoding.cuh"
#include "RegionMath.cuh"

namespace matmul {

/// Where scales are: nowhere, one for each row (or group of a row), one for the weight.
enum ScaleMode : i64 { kNoScale = 0, kRowScale = 1, kTensorScale = 2 };

constexpr bool kInteger = constants::integer != 0;
constexpr bool kPaired = constants::pair_offset != 0;
constexpr bool kScaled = constants::scale_mode != kNoScale;
constexpr bool kHasZeros = constants::zeros != kNoZeros;
constexpr bool kInputScaled = constants::input_scales != 0;

// Buffers: input, weight, input_scales?, scales?, zeros?, epilogue operands, result, workspace?.
constexpr int kInput = 0, kWeight = 1, kInputScales = 2;
constexpr int kScales = kInputScales + kInputScaled;
constexpr int kZeros = kScales + kScaled;
constexpr int kOperands = kZeros + kHasZeros;
constexpr int kResult = kOperands + int(constants::operands);
constexpr int kWorkspace = kResult + 1;

constexpr i64 kColumns = constants::n; ///< of the result
constexpr i64 kDepth = constants::k;
/// Columns of k that are summed together; part of the numerics of llm.matmul.
constexpr i64 kSegment = 512;

/// Tokens of this launch.
INGOT_DEVICE i64 rows(const Launch &launch) { return launch.scalars[constants::rows_dim]; }

/// The result at (row, column) from its sums, before it is rounded.
INGOT_DEVICE float finish(const Launch &launch, i64 row, i64 column, float sum, float second) {
  if constexpr (kInputScaled) {
    float scale = launch.buffer<const float>(kInputScales)[row];
    sum *= scale;
    second *= scale;
  }
  float x[4] = {};
  if constexpr (constants::operands > 0)
    x[0] = loadOperand<constants::address_0, constants::type_0>(launch.buffers[kOperands], row,
                                                                column, kColumns);
  if constexpr (constants::operands > 1)
    x[1] = loadOperand<constants::address_1, constants::type_1>(launch.buffers[kOperands + 1], row,
                                                                column, kColumns);
  if constexpr (constants::operands > 2)
    x[2] = loadOperand<constants::address_2, constants::type_2>(launch.buffers[kOperands + 2], row,
                                                                column, kColumns);
  if constexpr (constants::operands > 3)
    x[3] = loadOperand<constants::address_3, constants::type_3>(launch.buffers[kOperands + 3], row,
                                                                column, kColumns);
  return epilogue(sum, second, x[0], x[1], x[2], x[3]);
}

/// The result's column of row `row` of the weight; with pairs, of the first member of a pair.
INGOT_DEVICE i64 resultColumn(i64 row) {
  if constexpr (kPaired) {
    constexpr i64 offset = most(constants::pair_offset, 1);
    return row / (2 * offset) * offset + row % offset;
  }
  return row;
}

/// Where packed scales (and zeros) of one group a row hold row `row`: rows g and g + 8 of a tile of
/// 16 lie side by side.
INGOT_DEVICE i64 scalePlace(i64 row) { return row / 16 * 16 + row % 8 * 2 + row / 8 % 2; }

} // namespace matmul
