// SPDX-License-Identifier: Apache-2.0
// Sixteen vectors at a time: the power of two by butterflies, Paley's matrix by its signs.
#include "compiler/quantize/methods/Hadamard.h"

#include "compiler/quantize/methods/ParallelBlocks.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace ingot::quantize;

static constexpr int64_t kLanes = 16;
/// Beyond it a matrix would cost more than its table saves.
static constexpr int64_t kLargestPaley = 2048;

/// An element of several vectors.
struct HadamardTransform::Lanes {
  double x[kLanes];
};

static bool isPrime(int64_t n) {
  for (int64_t i = 2; i * i <= n; ++i)
    if (n % i == 0)
      return false;
  return n > 1;
}

/// The quadratic characters of 0 ... q - 1, q prime: 1 for squares, -1 for others, 0 for 0.
static std::vector<int8_t> characters(int64_t q) {
  std::vector<int8_t> result(static_cast<size_t>(q), -1);
  result[0] = 0;
  for (int64_t i = 1; i < q; ++i)
    result[static_cast<size_t>(i * i % q)] = 1;
  return result;
}

/// Row and column 0 of `sign` and 1 around the characters of differences, 0 on the diagonal.
static std::vector<int8_t> conference(int64_t q, int8_t sign) {
  const std::vector<int8_t> character = characters(q);
  const auto n = static_cast<size_t>(q + 1);
  std::vector<int8_t> matrix(n * n);
  for (size_t i = 1; i < n; ++i) {
    matrix[i] = 1;
    matrix[i * n] = sign;
    for (size_t j = 1; j < n; ++j)
      matrix[i * n + j] = character[(i + n - 1 - j) % (n - 1)];
  }
  return matrix;
}

/// Paley's first or second matrix of this order (1 and 2 are their own); empty where neither is.
static std::vector<int8_t> paleyMatrix(int64_t order) {
  if (order == 1)
    return {1};
  if (order == 2)
    return {1, 1, 1, -1};
  if (order % 4 != 0)
    return {};
  const auto n = static_cast<size_t>(order);
  if (isPrime(order - 1)) { // 3 mod 4
    std::vector<int8_t> matrix = conference(order - 1, -1);
    for (size_t i = 0; i < n; ++i)
      matrix[i * n + i] = 1;
    return matrix;
  }
  const int64_t q = order / 2 - 1;
  if (q % 4 != 1 || !isPrime(q))
    return {};
  const std::vector<int8_t> half = conference(q, 1);
  std::vector<int8_t> matrix(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      const int8_t value = half[i / 2 * (n / 2) + j / 2];
      const int8_t turned = i % 2 == 1 && j % 2 == 1 ? -1 : 1;
      // [1 1; 1 -1] times the value, or [1 -1; -1 -1] for the diagonal's 0.
      matrix[i * n + j] = value != 0                 ? static_cast<int8_t>(value * turned)
                          : i % 2 == 0 && j % 2 == 0 ? int8_t{1}
                                                     : int8_t{-1};
    }
  return matrix;
}

std::optional<HadamardTransform> HadamardTransform::create(int64_t width, uint64_t seed) {
  if (width < 1)
    return std::nullopt;
  HadamardTransform result;
  int64_t order = width;
  while (order % 2 == 0)
    order /= 2;
  for (; order <= std::min(width, kLargestPaley) && result.paley.empty(); order *= 2) {
    result.paley = paleyMatrix(order);
    result.order = order;
  }
  if (result.paley.empty())
    return std::nullopt;
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < width; ++i)
    result.signs.push_back(random() >> 63 ? -1.0f : 1.0f);
  return result;
}

/// x [width] becomes x H; signs and the factor are the caller's.
void HadamardTransform::apply(Lanes *x, Lanes *scratch) const {
  const int64_t n = width();
  for (int64_t step = order; step < n; step *= 2)
    for (int64_t first = 0; first < n; first += 2 * step)
      for (int64_t i = first; i < first + step; ++i)
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const double a = x[i].x[lane], b = x[i + step].x[lane];
          x[i].x[lane] = a + b;
          x[i + step].x[lane] = a - b;
        }
  if (order == 1)
    return;
  for (int64_t first = 0; first < n; first += order) {
    for (int64_t j = 0; j < order; ++j)
      scratch[j] = {};
    for (int64_t i = 0; i < order; ++i)
      for (int64_t j = 0; j < order; ++j) {
        const double sign = paley[static_cast<size_t>(i * order + j)];
        for (int64_t lane = 0; lane < kLanes; ++lane)
          scratch[j].x[lane] += sign * x[first + i].x[lane];
      }
    std::copy(scratch, scratch + order, x + first);
  }
}

void HadamardTransform::applyToRuns(float *values, int64_t vectors, int64_t vectorStride,
                                    int64_t runs, int64_t stride, unsigned threads) const {
  const int64_t n = width();
  const double factor = 1 / std::sqrt(static_cast<double>(n));
  forEachBlock((vectors + kLanes - 1) / kLanes, threads, [&](int64_t block) {
    std::vector<Lanes> x(static_cast<size_t>(n)), scratch(static_cast<size_t>(order));
    const int64_t first = block * kLanes, lanes = std::min(kLanes, vectors - first);
    for (int64_t run = 0; run < runs; ++run) {
      float *at = values + first * vectorStride + run * n * stride;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t lane = 0; lane < lanes; ++lane)
          x[static_cast<size_t>(i)].x[lane] =
              double{at[i * stride + lane * vectorStride]} * signs[static_cast<size_t>(i)];
      apply(x.data(), scratch.data());
      for (int64_t i = 0; i < n; ++i)
        for (int64_t lane = 0; lane < lanes; ++lane)
          at[i * stride + lane * vectorStride] =
              static_cast<float>(x[static_cast<size_t>(i)].x[lane] * factor);
    }
  });
}

void HadamardTransform::applyToColumns(float *values, int64_t rows, int64_t columns,
                                       unsigned threads) const {
  applyToRuns(values, rows, columns, columns / width(), 1, threads);
}

void HadamardTransform::applyToRows(float *values, int64_t rows, int64_t columns,
                                    unsigned threads) const {
  applyToRuns(values, columns, 1, rows / width(), columns, threads);
}
