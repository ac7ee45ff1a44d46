// SPDX-License-Identifier: Apache-2.0
// Scaling a run of values to an 8-bit type.
#pragma once

#include "codegen/native/kernels/Elements.h"

/// The largest magnitude that scaled values reach in an 8-bit type.
INGOT_INLINE float quantizedLimit(int64_t type) {
  return type == kI8 ? 127.0f : type == kE4m3 ? 448.0f : 57344.0f;
}

/// Stores `count` values as value / scale in an 8-bit type and returns the scale: amax / limit, or
/// 1 for zeros. With `fixed`, *fixed; what is out of the type's range is clamped then.
INGOT_INLINE float quantizeRow(const void *from, int64_t first, int64_t fromType, int64_t count,
                               void *to, int64_t toFirst, int64_t toType, const float *fixed) {
  float limit = quantizedLimit(toType);
  if (fixed) {
    for (int64_t i = 0; i < count; ++i) {
      float value = loadElement(from, first + i, fromType) / *fixed;
      storeElement(to, toFirst + i, toType,
                   value > limit    ? limit
                   : value < -limit ? -limit
                                    : value);
    }
    return *fixed;
  }
  float amax = 0;
  for (int64_t i = 0; i < count; ++i) {
    float value = loadElement(from, first + i, fromType);
    float magnitude = value < 0 ? -value : value;
    amax = magnitude > amax ? magnitude : amax;
  }
  float scale = amax / limit;
  if (!(scale > 0))
    scale = 1;
  for (int64_t i = 0; i < count; ++i)
    storeElement(to, toFirst + i, toType, loadElement(from, first + i, fromType) / scale);
  return scale;
}
