// SPDX-License-Identifier: Apache-2.0
// A weight in row-major order, encoded or not, as #llm.encoding says.
#pragma once

#include "codegen/native/kernels/Elements.h"

INGOT_CONST(weight_columns);
INGOT_CONST(weight_type);
INGOT_CONST(encoded); ///< 1: a scales buffer follows
INGOT_CONST(scale_type);
INGOT_CONST(group);  ///< columns of a group; 0: one per row; -1: one for the weight
INGOT_CONST(groups); ///< scales in a row
INGOT_CONST(zeros);  ///< ZerosCode; their buffer follows the scales

struct EncodedWeight {
  const void *values, *scales, *zeros;

  /// The buffers of the weight at `values` and, in order from `next` on, its scales and zeros;
  /// leaves `next` behind them.
  static EncodedWeight from(void *const *buffers, int64_t values, int64_t &next) {
    EncodedWeight weight = {buffers[values], nullptr, nullptr};
    if (ingot_const_encoded)
      weight.scales = buffers[next++];
    if (ingot_const_zeros)
      weight.zeros = buffers[next++];
    return weight;
  }

  static int64_t scaleIndex(int64_t row, int64_t column) {
    if (ingot_const_group < 0)
      return 0;
    return ingot_const_group == 0 ? row : row * ingot_const_groups + column / ingot_const_group;
  }

  /// What the scale multiplies, exact: stored - zero, or the number of the code book.
  float stored(int64_t row, int64_t column) const {
    float value =
        loadElement(values, row * ingot_const_weight_columns + column, ingot_const_weight_type);
    if (ingot_const_zeros == kCodeBook)
      return static_cast<const float *>(zeros)[int64_t(value)];
    if (ingot_const_zeros == kZeroPoints)
      return value - float(static_cast<const int8_t *>(zeros)[scaleIndex(row, column)]);
    return ingot_const_weight_type == kI4 && ingot_const_zeros == kNoZeros ? value - 8.0f : value;
  }

  float scale(int64_t row, int64_t column) const {
    return loadElement(scales, scaleIndex(row, column), ingot_const_scale_type);
  }

  /// The f32 that the element stands for.
  float value(int64_t row, int64_t column) const {
    float element = stored(row, column);
    if (!ingot_const_encoded)
      return element;
    float product = scale(row, column) * element;
    if (ingot_const_zeros != kOffsets)
      return product;
    return product + loadElement(zeros, scaleIndex(row, column), ingot_const_scale_type);
  }
};
