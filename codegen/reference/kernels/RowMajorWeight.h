// SPDX-License-Identifier: Apache-2.0
// A weight in row-major order, encoded or not.
#pragma once

#include "codegen/native/kernels/EncodedWeight.h"

INGOT_CONST(weight_columns);
INGOT_CONST(groups); ///< scales in a row

struct RowMajor {
  static int64_t element(int64_t row, int64_t column) {
    return row * ingot_const_weight_columns + column;
  }
  static int64_t group(int64_t row, int64_t group) { return row * ingot_const_groups + group; }
  static int64_t super(int64_t row, int64_t column) {
    int64_t parts = ingot_const_zeros == kOffsets ? 2 : 1;
    return row * (ingot_const_weight_columns / kSuperColumns * parts) + column;
  }
  static float load(int64_t type, const void *base, int64_t place) {
    return loadElement(base, place, type);
  }
};

using RowMajorWeight = EncodedWeight<RowMajor>;
