// SPDX-License-Identifier: Apache-2.0
// Which of a row's positions a frequency of rotary embedding takes.
#pragma once

#include "codegen/native/kernels/Kernel.h"

INGOT_CONST_OR(axes, 1); ///< positions of a row
// The axes of sixteen frequencies each, two bits a frequency.
INGOT_CONST_OR(axes_0, 0);
INGOT_CONST_OR(axes_1, 0);
INGOT_CONST_OR(axes_2, 0);
INGOT_CONST_OR(axes_3, 0);
INGOT_CONST_OR(axes_4, 0);
INGOT_CONST_OR(axes_5, 0);
INGOT_CONST_OR(axes_6, 0);
INGOT_CONST_OR(axes_7, 0);

inline bool hasAxes() { return ingot_const_axes > 1; }

/// The axis of frequency `i`.
inline int64_t axisOf(int64_t i) {
  const int64_t words[] = {ingot_const_axes_0, ingot_const_axes_1, ingot_const_axes_2,
                           ingot_const_axes_3, ingot_const_axes_4, ingot_const_axes_5,
                           ingot_const_axes_6, ingot_const_axes_7};
  return words[i / 16] >> (i % 16 * 2) & 3;
}
