// SPDX-License-Identifier: Apache-2.0
// What AVX-512 computes is what AVX2 does, to the bit.
#include "compiler/quantize/methods/WideProduct.h"
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "tests/unit/quantize_methods/Inputs.h"

using namespace ingot::quantize;
using namespace ingot::test;

TEST(WideProduct, GivesTheBytesOfNarrowVectors) {
  if (!isSupportedHere() || !isWideHere())
    GTEST_SKIP() << "no AVX-512 here";
  const int64_t stride = 520;
  const Floats a = randomFloats(stride * stride, 1), b = randomFloats(stride * stride, 2),
               start = randomFloats(stride * stride, 3);
  for (const int64_t rows : {4, 60, 64, 288, 516})
    for (const int64_t columns : {kWideColumns, 3 * kWideColumns, 6 * kWideColumns})
      for (const int64_t depth : {int64_t{1}, int64_t{7}, int64_t{100}, kSumDepth})
        for (int kind = 0; kind < 4; ++kind) {
          Floats wide = start, narrow = start;
          const MatrixView left{a.data(), stride, kind % 2 == 1}, right{b.data(), stride, kind > 1};
          const float sign = rows == 64 ? -1 : 1;
          addWideProduct(wide.data(), stride, rows, columns, depth, left, right, sign);
          addNarrowProduct(narrow.data(), stride, rows, columns, depth, left, right, sign);
          EXPECT_TRUE(wide == narrow) << rows << " x " << columns << " x " << depth << ", " << kind;
          EXPECT_TRUE(wide != start);
        }
}

TEST(WideProduct, ProductsAreWhole) {
  if (!isSupportedHere())
    GTEST_SKIP() << "no AVX2 here";
  const int64_t rows = 7, columns = 101, depth = 403, stride = 500;
  const Floats a = randomFloats(rows * stride, 1), b = randomFloats(depth * stride, 2);
  Floats c(static_cast<size_t>(rows * stride));
  addProduct(c.data(), stride, rows, columns, depth, {a.data(), stride}, {b.data(), stride});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += double(a[size_t(row * stride + k)]) * double(b[size_t(k * stride + column)]);
      EXPECT_NEAR(c[size_t(row * stride + column)], sum, 1e-4) << row << ", " << column;
    }
}
