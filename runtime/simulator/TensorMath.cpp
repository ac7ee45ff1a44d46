// SPDX-License-Identifier: Apache-2.0
// Matrix products in f32, eight columns at a time, and in the hardware's own summation.
#include "runtime/simulator/TensorMath.h"
#include "runtime/simulator/Rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <immintrin.h>

namespace ingot::simulator {

namespace {

/// Values of all codes of an eight-bit format.
std::array<float, 256> tableOf(const Format &format) {
  std::array<float, 256> table;
  for (uint32_t code = 0; code < 256; ++code)
    table[code] = float(decodeFloat(code, format));
  return table;
}

/// One dot product as the hardware sums it.
float exactStep(const float *a, const float *b, uint32_t stride, uint32_t count, float addend,
                const ExactSum &sum) {
  double products[32];
  int largest = -100000;
  bool special = !std::isfinite(addend);
  for (uint32_t k = 0; k < count; ++k) {
    products[k] = double(a[k]) * double(b[k * stride]);
    special |= !std::isfinite(products[k]);
    if (products[k] != 0)
      largest = std::max(largest, std::ilogb(a[k]) + std::ilogb(b[k * stride]));
  }
  if (special) {
    double total = addend;
    for (uint32_t k = 0; k < count; ++k)
      total += products[k];
    return float(total);
  }
  if (addend != 0)
    largest = std::max(largest, std::ilogb(addend));
  if (largest == -100000)
    return 0.0f;
  int shift = int(sum.fractionBits) - largest;
  // Truncated towards zero at `fractionBits` below the largest exponent; then sums are exact.
  auto aligned = [&](double value) { return int64_t(std::ldexp(value, shift)); };
  int64_t total = aligned(addend);
  for (uint32_t k = 0; k < count; ++k)
    total += aligned(products[k]);
  if (total == 0)
    return 0.0f;
  double value = std::ldexp(double(total), -shift);
  float result = float(value);
  if (std::fabs(double(result)) > std::fabs(value))
    result = std::nextafter(result, 0.0f);
  uint32_t cut = 23 - sum.resultFractionBits;
  uint32_t bits = std::bit_cast<uint32_t>(result) & ~((1u << cut) - 1);
  return std::bit_cast<float>(bits);
}

} // namespace

uint32_t elementBytes(Element element) {
  return element == Element::F16 || element == Element::Bf16 ? 2 : element == Element::Tf32 ? 4 : 1;
}

void widen(Element element, const uint8_t *from, uint32_t count, float *to) {
  static const std::array<float, 256> e4m3 = tableOf(e4m3Format), e5m2 = tableOf(e5m2Format);
  switch (element) {
  case Element::F16:
    for (uint32_t i = 0; i < count; i += 8)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                   reinterpret_cast<const __m128i *>(from + 2 * i))));
    return;
  case Element::Bf16:
    for (uint32_t i = 0; i < count; i += 8)
      _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(
                                   _mm256_cvtepu16_epi32(_mm_loadu_si128(
                                       reinterpret_cast<const __m128i *>(from + 2 * i))),
                                   16)));
    return;
  case Element::E4m3:
    for (uint32_t i = 0; i < count; ++i)
      to[i] = e4m3[from[i]];
    return;
  case Element::E5m2:
    for (uint32_t i = 0; i < count; ++i)
      to[i] = e5m2[from[i]];
    return;
  case Element::S8:
    for (uint32_t i = 0; i < count; ++i)
      to[i] = float(int8_t(from[i]));
    return;
  case Element::U8:
    for (uint32_t i = 0; i < count; ++i)
      to[i] = float(from[i]);
    return;
  case Element::Tf32:
    std::memcpy(to, from, 4 * size_t(count));
    for (uint32_t i = 0; i < count; ++i)
      to[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(to[i]) & ~0x1fffu);
    return;
  }
}

ExactSum exactSumOf(uint32_t architecture, Element element, bool wgmma) {
  bool eight = element == Element::E4m3 || element == Element::E5m2;
  if (architecture < 90) {
    if (eight)
      return {13, 16, 13};
    return {24, element == Element::Tf32 ? 4u : 8u, 23};
  }
  if (eight && wgmma && architecture == 90)
    return {13, 32, 13};
  return {25, eight ? 32u : element == Element::Tf32 ? 8u : 16u, 23};
}

void multiplyTile(const float *a, const float *b, float *accumulators, uint32_t rows,
                  uint32_t depth) {
  for (uint32_t row = 0; row < rows; row += 8) {
    __m256 sums[8];
    for (uint32_t i = 0; i < 8; ++i)
      sums[i] = _mm256_loadu_ps(accumulators + (row + i) * 8);
    const float *left = a + size_t(row) * depth;
    for (uint32_t k = 0; k < depth; ++k) {
      __m256 right = _mm256_loadu_ps(b + size_t(k) * 8);
      for (uint32_t i = 0; i < 8; ++i)
        sums[i] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(left + size_t(i) * depth + k), right, sums[i]);
    }
    for (uint32_t i = 0; i < 8; ++i)
      _mm256_storeu_ps(accumulators + (row + i) * 8, sums[i]);
  }
}

void multiplyTileExact(const float *a, const float *b, float *accumulators, uint32_t rows,
                       uint32_t depth, const ExactSum &sum) {
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      float &total = accumulators[row * 8 + column];
      for (uint32_t k = 0; k < depth; k += sum.group)
        total = exactStep(a + size_t(row) * depth + k, b + size_t(k) * 8 + column, 8,
                          std::min(sum.group, depth - k), total, sum);
    }
}

} // namespace ingot::simulator
