// SPDX-License-Identifier: Apache-2.0
// What tests do with encoded rows: encode, decode, and sum errors.
#pragma once

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/quantize/ggml/BlockEncoder.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <random>
#include <span>
#include <vector>

namespace ingot::test {

inline const std::vector<checkpoint::DType> encodedTypes = {
    checkpoint::DType::Q4_0, checkpoint::DType::Q4_1,   checkpoint::DType::Q5_0,
    checkpoint::DType::Q5_1, checkpoint::DType::Q8_0,   checkpoint::DType::Q2_K,
    checkpoint::DType::Q3_K, checkpoint::DType::Q4_K,   checkpoint::DType::Q5_K,
    checkpoint::DType::Q6_K, checkpoint::DType::IQ4_NL, checkpoint::DType::IQ4_XS,
};

inline std::vector<std::byte> encoded(checkpoint::DType dtype, const std::vector<float> &rows,
                                      uint64_t columns, const std::vector<float> &importance = {}) {
  const std::vector<uint64_t> shape{rows.size() / columns, columns};
  std::vector<std::byte> bytes(checkpoint::storedBytes(dtype, shape).value());
  EXPECT_TRUE(
      succeeds(quantize::encodeRows(dtype, rows.data(), shape[0], columns, importance, bytes)));
  return bytes;
}

inline std::vector<float> decoded(checkpoint::DType dtype, std::span<const std::byte> bytes) {
  const checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(dtype);
  std::vector<float> values(bytes.size() / (unit.bits / 8) * unit.elements);
  EXPECT_TRUE(succeeds(checkpoint::decodeGgml(dtype, bytes, values)));
  return values;
}

/// The squared error, weighted by the importance of columns where it is given.
inline double squaredError(std::span<const float> x, std::span<const float> y,
                           std::span<const float> importance = {}) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double rest = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += (importance.empty() ? 1 : importance[i % importance.size()]) * rest * rest;
  }
  return sum;
}

inline std::vector<float> normals(size_t count, float deviation = 1, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

} // namespace ingot::test
