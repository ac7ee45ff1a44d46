// SPDX-License-Identifier: Apache-2.0
// What AVX-512 computes is what AVX2 does, to the bit.
#include "compiler/quantize/methods/WideProduct.h"
#include "compiler/quantize/methods/Grid.h"

#include "Inputs.h"

#include <gtest/gtest.h>

namespace ingot::quantize {

TEST(WideProductTest, GivesTheBytesOfNarrowVectors) {
  if (!isSupportedHere() || !isWideHere())
    GTEST_SKIP() << "no AVX-512 here";
  for (const int64_t rows : {4, 60, 64, 288, 516})
    for (const int64_t columns : {kWideColumns, 3 * kWideColumns, 6 * kWideColumns})
      for (const int64_t depth : {int64_t{1}, int64_t{7}, int64_t{100}, kSumDepth}) {
        const int64_t stride = std::max(rows, columns) + 3;
        const std::vector<float> a = test::randomFloats(depth * stride, 1),
                                 b = test::randomFloats(depth * stride, 2),
                                 start = test::randomFloats(rows * stride, 3);
        std::vector<float> wide = start, narrow = start;
        addWideProduct(wide.data(), stride, rows, columns, depth, a.data(), b.data(), stride);
        addNarrowProduct(narrow.data(), stride, rows, columns, depth, a.data(), b.data(), stride);
        EXPECT_EQ(wide, narrow) << rows << " x " << columns << " x " << depth;
        EXPECT_NE(wide, start);
      }
}

} // namespace ingot::quantize
