// SPDX-License-Identifier: Apache-2.0
// The numbers that a weight stands for, element by element, as #llm.encoding says: in any memory
// order, encoded or not.
#pragma once

#include "codegen/native/kernels/Elements.h"

INGOT_CONST(weight_type);  ///< ElementType, as of the scales and super-block scales
INGOT_CONST(scale_extent); ///< ScaleExtent; a buffer of scales follows
INGOT_CONST(scale_form);   ///< ScaleForm; a buffer of super-block scales follows the zeros
INGOT_CONST(scale_type);
INGOT_CONST(super_type);
INGOT_CONST(zeros); ///< ZeroForm; their buffer follows the scales
INGOT_CONST(group); ///< columns of a group; 0: one per row; -1: one for the weight

/// A weight's buffers; those that it does not have are null.
struct WeightBuffers {
  const char *values, *scales, *zeros, *superScales;

  /// Those beside the values, from `next` on, which is left behind them.
  INGOT_INLINE WeightBuffers take(const void *values, void *const *&next) {
    WeightBuffers weight = {static_cast<const char *>(values), nullptr, nullptr, nullptr};
    if (ingot_const_scale_extent)
      weight.scales = static_cast<const char *>(*next++);
    if (ingot_const_zeros)
      weight.zeros = static_cast<const char *>(*next++);
    if (ingot_const_scale_form)
      weight.superScales = static_cast<const char *>(*next++);
    return weight;
  }
};

/// `Order` has the memory order: places of an element (`element(row, column)`), of a group's
/// numbers
/// (`group(row, group)`) and of a super (`super(row, column)`), and `load(type, base, place)`.
template <class Order> struct EncodedWeight : WeightBuffers {
  static int64_t groupPlace(int64_t row, int64_t column) {
    if (ingot_const_group < 0)
      return 0;
    return Order::group(row, ingot_const_group ? column / ingot_const_group : 0);
  }

  /// The element as it is stored.
  float element(int64_t row, int64_t column) const {
    return Order::load(ingot_const_weight_type, values, Order::element(row, column));
  }

  /// What the scale multiplies, exact: stored - zero, or the number of the code book.
  float stored(int64_t row, int64_t column) const {
    float value = element(row, column);
    if (ingot_const_zeros == kCodeBook)
      return reinterpret_cast<const float *>(zeros)[int64_t(value)];
    if (ingot_const_zeros == kZeroPoints)
      return value - float(static_cast<int8_t>(zeros[groupPlace(row, column)]));
    bool centred = ingot_const_zeros == kNoZeros && elementBits(ingot_const_weight_type) < 8;
    return centred ? value - float(middleOf(ingot_const_weight_type)) : value;
  }

  /// What the scale (`part` = 0) or offset (1) of an element is, from `numbers`, which has them or
  /// their codes.
  float numberFrom(const char *numbers, int64_t row, int64_t column, int64_t part) const {
    int64_t place = groupPlace(row, column);
    if (ingot_const_scale_form == kTableScales)
      return loadTableScale(numbers, place, superScales);
    if (ingot_const_scale_form == kPlainScales)
      return Order::load(ingot_const_scale_type, numbers, place);
    return super(row, column, part) * code(numbers, row, column);
  }

  /// With scales of two levels: what the codes of scales (`part` = 0) or offsets (1) are of.
  float super(int64_t row, int64_t column, int64_t part) const {
    int64_t parts = ingot_const_zeros == kOffsets ? 2 : 1;
    return Order::load(ingot_const_super_type, superScales,
                       Order::super(row, column / kSuperColumns * parts + part));
  }
  float code(const char *numbers, int64_t row, int64_t column) const {
    return loadScaleCode(numbers, groupPlace(row, column), ingot_const_scale_type,
                         ingot_const_zeros == kOffsets);
  }
  float scaleCode(int64_t row, int64_t column) const { return code(scales, row, column); }
  float offsetCode(int64_t row, int64_t column) const { return code(zeros, row, column); }

  float scale(int64_t row, int64_t column) const { return numberFrom(scales, row, column, 0); }
  float offset(int64_t row, int64_t column) const { return numberFrom(zeros, row, column, 1); }

  /// The f32 that the element stands for.
  float value(int64_t row, int64_t column) const {
    float number = stored(row, column);
    if (!ingot_const_scale_extent)
      return number;
    float product = scale(row, column) * number;
    return ingot_const_zeros == kOffsets ? product + offset(row, column) : product;
  }
};
