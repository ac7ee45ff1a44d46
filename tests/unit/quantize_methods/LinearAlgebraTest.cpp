// SPDX-License-Identifier: Apache-2.0
// Factors in f64 and in f32, and what they multiply to.
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

struct Factored {
  std::vector<float> upper;
  std::vector<double> pivots;
  bool found = false;
};

template <class T>
Factored factored(const Moments &moments, const std::vector<int32_t> &order, double share,
                  unsigned threads = 1) {
  const size_t n = order.size();
  Factored result{Floats(n * n), std::vector<double>(n)};
  const Floats squares = moments.meanSquares();
  const double mean =
      std::accumulate(squares.begin(), squares.end(), 0.0) / double(n) * double(moments.count());
  const std::vector<double> added(n, share * mean);
  std::vector<T> work(n * n);
  result.found =
      factorUnitUpper(moments.second(), order.data(), added.data(), 0.5 * share * mean, int64_t(n),
                      work.data(), {result.upper.data(), result.pivots.data()}, threads);
  return result;
}

std::vector<int32_t> shuffled(int32_t n) {
  std::vector<int32_t> order;
  for (int32_t i = 0; i < n; ++i)
    order.push_back(i * 7 % n);
  return order;
}

} // namespace

TEST(LinearAlgebra, FactorsMultiplyToTheMatrix) {
  const int32_t n = 530; // two tiles and a piece
  const Moments moments = momentsOf(correlatedInputs(900, n), n);
  const std::vector<int32_t> order = shuffled(n);
  const Factored f64 = factored<double>(moments, order, 0.01);
  const Factored f32 = factored<float>(moments, order, 0.01);
  ASSERT_TRUE(f64.found && f32.found);
  const Floats squares = moments.meanSquares();
  const double mean = std::accumulate(squares.begin(), squares.end(), 0.0) / n * 900;
  for (size_t i = 0; i < size_t(n); i += 23)
    for (size_t j = i; j < size_t(n); j += 19) {
      double product = 0;
      for (size_t k = j; k < size_t(n); ++k)
        product += double(f64.upper[i * size_t(n) + k]) * f64.pivots[k] *
                   double(f64.upper[j * size_t(n) + k]);
      const double expected =
          double(moments.second()[order[i] * n + order[j]]) + (i == j ? 0.01 * mean : 0);
      EXPECT_NEAR(product, expected, 1e-5 * mean);
    }
  for (size_t i = 0; i < f64.upper.size(); ++i)
    ASSERT_NEAR(f64.upper[i], f32.upper[i], 1e-3);
}

TEST(LinearAlgebra, ThreadsChangeNoFactor) {
  const Moments moments = momentsOf(correlatedInputs(900, 530), 530);
  const Factored one = factored<double>(moments, shuffled(530), 0.01);
  for (unsigned threads : {2u, 3u}) {
    const Factored other = factored<double>(moments, shuffled(530), 0.01, threads);
    EXPECT_EQ(one.upper, other.upper);
    EXPECT_EQ(one.pivots, other.pivots);
  }
}

TEST(LinearAlgebra, LittleDampingNeedsF64) {
  // Inputs that are nearly the same in all columns: all but one pivot are the damping alone.
  const int32_t n = 512;
  Floats inputs = randomFloats(2000 * n, 1, 1e-4f);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] += 1.0f + 0.1f * static_cast<float>(i / n % 7);
  const Moments moments = momentsOf(inputs, n);
  auto difference = [&](double share) {
    const Factored f64 = factored<double>(moments, shuffled(n), share);
    const Factored f32 = factored<float>(moments, shuffled(n), share);
    EXPECT_TRUE(f64.found && f32.found);
    double most = 0;
    for (size_t i = 0; i < f64.pivots.size(); ++i)
      most = std::max(most, std::abs(f32.pivots[i] / f64.pivots[i] - 1));
    return most;
  };
  EXPECT_LT(difference(1e-2), 1e-3); // the usual damping
  EXPECT_GT(difference(2e-5), 1e-2);
}

TEST(LinearAlgebra, OrdersAndTransposesOfProducts) {
  const Floats a = randomFloats(5 * 7, 1), b = randomFloats(7 * 9, 2);
  Floats aTransposed(a.size()), bTransposed(b.size()), expected(5 * 9);
  for (size_t k = 0; k < 7; ++k) {
    for (size_t i = 0; i < 5; ++i)
      aTransposed[k * 5 + i] = a[i * 7 + k];
    for (size_t j = 0; j < 9; ++j)
      bTransposed[j * 7 + k] = b[k * 9 + j];
    for (size_t i = 0; i < 5; ++i)
      for (size_t j = 0; j < 9; ++j)
        expected[i * 9 + j] += a[i * 7 + k] * b[k * 9 + j];
  }
  for (bool first : {false, true})
    for (bool second : {false, true}) {
      Floats sums(5 * 9);
      addProduct(sums.data(), 9, 5, 9, 7,
                 first ? MatrixView{aTransposed.data(), 5, true} : MatrixView{a.data(), 7},
                 second ? MatrixView{bTransposed.data(), 7, true} : MatrixView{b.data(), 9}, -1);
      for (size_t i = 0; i < sums.size(); ++i)
        EXPECT_NEAR(sums[i], -expected[i], 1e-5);
    }
}
