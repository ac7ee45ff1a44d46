// SPDX-License-Identifier: Apache-2.0
// The epilogue or point-wise function of a kernel, on sixteen lanes, and its mathematics.
#pragma once

#include "codegen/x86/kernels/Vector.h"

/// The widest vector that is passed in one register.
#ifdef __AVX512F__
using Vec = float __attribute__((vector_size(64)));
#else
using Vec = float __attribute__((vector_size(32)));
#endif
#include "codegen/native/kernels/RegionMath.h"

/// Defined from the kernel's region when the engine is built.
extern "C" Vec ingot_epilogue(Vec, Vec, Vec, Vec, Vec, Vec);

namespace ingot::x86 {

constexpr int regionOperands = 6;

/// The region's value on all sixteen lanes.
[[gnu::always_inline]] inline Floats epilogue(const Floats (&x)[regionOperands]) {
#ifdef __AVX512F__
  return ingot_epilogue(x[0], x[1], x[2], x[3], x[4], x[5]);
#else
  Vec part[2][regionOperands];
#pragma clang loop unroll(full)
  for (int i = 0; i < regionOperands; ++i) {
    part[0][i] = __builtin_shufflevector(x[i], x[i], 0, 1, 2, 3, 4, 5, 6, 7);
    part[1][i] = __builtin_shufflevector(x[i], x[i], 8, 9, 10, 11, 12, 13, 14, 15);
  }
  Vec low = ingot_epilogue(part[0][0], part[0][1], part[0][2], part[0][3], part[0][4], part[0][5]);
  Vec high = ingot_epilogue(part[1][0], part[1][1], part[1][2], part[1][3], part[1][4], part[1][5]);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
}

/// How an operand of a region is addressed.
enum Address : int64_t { Absent = 0, RowAndColumn = 1, Column = 2, Row = 3 };

/// Sixteen values of an operand at row `row` and columns from `column` on; `columns` in a row.
[[gnu::always_inline]] inline Floats loadOperand(int64_t address, int64_t type, const void *base,
                                                 int64_t row, int64_t column, int64_t columns) {
  switch (address) {
  case RowAndColumn:
    return load(type, base, row * columns + column);
  case Column:
    return load(type, base, column);
  case Row:
    return splat(loadOne(type, base, row));
  default:
    return Floats{};
  }
}

} // namespace ingot::x86
