// SPDX-License-Identifier: Apache-2.0
// Rotations by Hadamard matrices: orthogonal, of one magnitude, the same from both sides.
#include "compiler/quantize/methods/Hadamard.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <cmath>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

/// Q [width, width].
Floats matrixOf(const HadamardTransform &transform) {
  const int64_t n = transform.width();
  Floats matrix(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i)
    matrix[static_cast<size_t>(i * n + i)] = 1;
  transform.applyToColumns(matrix.data(), n, n, 1);
  return matrix;
}

} // namespace

// Powers of two, both of Paley's constructions, and their products with powers of two.
TEST(Hadamard, IsOrthogonal) {
  for (int64_t n : {1, 2, 8, 64, 12, 20, 28, 36, 96, 144, 320, 448, 576, 960, 2880}) {
    auto transform = HadamardTransform::create(n, 7);
    ASSERT_TRUE(transform) << n;
    const Floats q = matrixOf(*transform);
    const double magnitude = 1 / std::sqrt(static_cast<double>(n));
    for (float element : q)
      ASSERT_FLOAT_EQ(std::abs(element), static_cast<float>(magnitude)) << n;
    // Some rows with all: those of 2880 would take long.
    for (int64_t a = 0; a < n; a += std::max<int64_t>(1, n / 30))
      for (int64_t b = 0; b < n; ++b) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i)
          sum += double{q[static_cast<size_t>(a * n + i)]} * q[static_cast<size_t>(b * n + i)];
        ASSERT_NEAR(sum, a == b ? 1 : 0, 1e-6) << n << ": " << a << ", " << b;
      }
  }
}

TEST(Hadamard, WidthsWithoutKnownMatrix) {
  for (int64_t n : {0, 3, 5, 6, 10, 14, 22})
    EXPECT_FALSE(HadamardTransform::create(n, 0)) << n;
}

TEST(Hadamard, ProductsAreThoseOfTheMatrix) {
  const int64_t n = 24, runs = 2, others = 37;
  auto transform = HadamardTransform::create(n, 3);
  ASSERT_TRUE(transform);
  const Floats q = matrixOf(*transform), before = randomFloats(runs * n * others, 5);
  auto at = [](const Floats &matrix, int64_t columns, int64_t row, int64_t column) {
    return double{matrix[static_cast<size_t>(row * columns + column)]};
  };
  Floats right = before, left = before; // [others, runs * n], [runs * n, others]
  transform->applyToColumns(right.data(), others, runs * n, 2);
  transform->applyToRows(left.data(), runs * n, others, 2);
  for (int64_t other = 0; other < others; ++other)
    for (int64_t i = 0; i < runs * n; ++i) {
      double byColumn = 0, byRow = 0;
      for (int64_t k = 0; k < n; ++k) {
        byColumn += at(before, runs * n, other, i / n * n + k) * at(q, n, k, i % n);
        byRow += at(q, n, k, i % n) * at(before, others, i / n * n + k, other);
      }
      ASSERT_NEAR(at(right, runs * n, other, i), byColumn, 1e-6);
      ASSERT_NEAR(at(left, others, i, other), byRow, 1e-6);
    }
}

TEST(Hadamard, ThreadsAndSeeds) {
  const Floats before = randomFloats(100 * 96, 2);
  std::vector<Floats> results;
  for (unsigned threads : {1u, 2u, 3u}) {
    Floats values = before;
    HadamardTransform::create(96, 1)->applyToColumns(values.data(), 100, 96, threads);
    HadamardTransform::create(12, 1)->applyToRows(values.data(), 96, 100, threads);
    results.push_back(values);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  Floats other = before;
  HadamardTransform::create(96, 4)->applyToColumns(other.data(), 100, 96, 1);
  EXPECT_NE(other, results[0]);
}
