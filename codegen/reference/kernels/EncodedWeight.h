// SPDX-License-Identifier: Apache-2.0
// A weight in row-major order, encoded or not, as #llm.encoding says.
#pragma once

#include "codegen/native/kernels/Elements.h"

INGOT_CONST(weight_columns);
INGOT_CONST(weight_type);
INGOT_CONST(encoded); ///< 1: a scales buffer follows
INGOT_CONST(scale_type);
INGOT_CONST(scale_form); ///< ScaleFormCode; a buffer of supers follows the zeros
INGOT_CONST(super_type);
INGOT_CONST(group);  ///< columns of a group; 0: one per row; -1: one for the weight
INGOT_CONST(groups); ///< scales in a row
INGOT_CONST(zeros);  ///< ZerosCode; their buffer follows the scales

struct EncodedWeight {
  const void *values, *scales, *zeros, *supers;

  /// The buffers of the weight at `values` and, in order from `next` on, its scales, zeros and
  /// supers; leaves `next` behind them.
  static EncodedWeight from(void *const *buffers, int64_t values, int64_t &next) {
    EncodedWeight weight = {buffers[values], nullptr, nullptr, nullptr};
    if (ingot_const_encoded)
      weight.scales = buffers[next++];
    if (ingot_const_zeros)
      weight.zeros = buffers[next++];
    if (ingot_const_scale_form)
      weight.supers = buffers[next++];
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
    bool centred = ingot_const_zeros == kNoZeros && elementBits(ingot_const_weight_type) < 8;
    return centred ? value - float(middleOf(ingot_const_weight_type)) : value;
  }

  /// What the scale (`part` = 0) or offset (1) of an element is, from `numbers`, which has them or
  /// their codes.
  float scaleFrom(const void *numbers, int64_t row, int64_t column, int64_t part) const {
    int64_t index = scaleIndex(row, column);
    if (ingot_const_scale_form == kTableScales)
      return loadTableScale(numbers, index, supers);
    if (ingot_const_scale_form == kPlainScales)
      return loadElement(numbers, index, ingot_const_scale_type);
    return super(row, column, part) * code(numbers, row, column);
  }

  /// With scales of two levels: what the codes of scales (`part` = 0) or offsets (1) are of.
  float super(int64_t row, int64_t column, int64_t part) const {
    int64_t parts = ingot_const_zeros == kOffsets ? 2 : 1;
    int64_t block = row * (ingot_const_weight_columns / kSuperColumns) + column / kSuperColumns;
    return loadElement(supers, block * parts + part, ingot_const_super_type);
  }
  float code(const void *numbers, int64_t row, int64_t column) const {
    return loadScaleCode(numbers, scaleIndex(row, column), ingot_const_scale_type,
                         ingot_const_zeros == kOffsets);
  }
  float scaleCode(int64_t row, int64_t column) const { return code(scales, row, column); }
  float offsetCode(int64_t row, int64_t column) const { return code(zeros, row, column); }

  float scale(int64_t row, int64_t column) const { return scaleFrom(scales, row, column, 0); }
  float offset(int64_t row, int64_t column) const { return scaleFrom(zeros, row, column, 1); }

  /// The f32 that the element stands for.
  float value(int64_t row, int64_t column) const {
    float element = stored(row, column);
    if (!ingot_const_encoded)
      return element;
    float product = scale(row, column) * element;
    if (ingot_const_zeros != kOffsets)
      return product;
    return product + offset(row, column);
  }
};
