// SPDX-License-Identifier: Apache-2.0
// Random matrices, and inputs whose columns are correlated and of different sizes.
#pragma once

#include "compiler/quantize/methods/Grid.h"
#include "compiler/quantize/methods/Moments.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace ingot::test {

using Floats = std::vector<float>;

inline Floats randomFloats(int64_t count, uint32_t seed, float spread = 1) {
  std::mt19937 numbers(seed);
  Floats values(static_cast<size_t>(count));
  for (float &value : values) // not normal: libraries differ in those
    value = spread * (static_cast<float>(numbers() >> 8) * 0x1p-23f - 1.0f);
  return values;
}

/// Each element has part of the one before it; every 13th column is large.
inline Floats correlatedInputs(int64_t count, int64_t columns, uint32_t seed = 1) {
  Floats inputs = randomFloats(count * columns, seed);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t column = 1; column < columns; ++column) {
      float *at = inputs.data() + row * columns + column;
      *at = 0.75f * at[-1] + (column % 13 == 5 ? 8.0f : 1.0f) * *at;
    }
  return inputs;
}

inline quantize::Moments momentsOf(const Floats &inputs, int64_t columns) {
  quantize::Moments moments(columns);
  moments.add(inputs.data(), static_cast<int64_t>(inputs.size()) / columns, 1);
  return moments;
}

inline void expectEqual(const quantize::QuantizedMatrix &one,
                        const quantize::QuantizedMatrix &other) {
  EXPECT_EQ(one.codes, other.codes);
  EXPECT_EQ(one.scales, other.scales);
  EXPECT_EQ(one.zeros, other.zeros);
}

} // namespace ingot::test
