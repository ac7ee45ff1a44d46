// SPDX-License-Identifier: Apache-2.0
// Matrix products in f32, eight columns at a time, and in the hardware's own summation.
#include "runtime/simulator/TensorMath.h"
#include "runtime/simulator/Rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

namespace ingot::simulator {

namespace {

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

/// 8 x 8 numbers, rows to columns.
void transpose8(const float *from, size_t stride, float *to) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(from + size_t(i) * stride);
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + 8 * i, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + 8 * (i + 4), _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

const __m128i *wordsOf(const void *from) { return static_cast<const __m128i *>(from); }

/// Eight codes of e4m3: with its exponent in that of f16 a number is too small by 2^8.
__m256 widenE4m3(const uint8_t *from) {
  const __m128i codes = _mm_cvtepu8_epi16(_mm_loadl_epi64(wordsOf(from)));
  const __m128i size = _mm_and_si128(codes, _mm_set1_epi16(0x7f));
  const __m128i sign = _mm_slli_epi16(_mm_and_si128(codes, _mm_set1_epi16(0x80)), 8);
  const __m256 values = _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(_mm_slli_epi16(size, 7), sign)),
                                      _mm256_set1_ps(0x1p8f));
  const __m256i none = _mm256_cvtepi16_epi32(_mm_cmpeq_epi16(size, _mm_set1_epi16(0x7f)));
  return _mm256_blendv_ps(values, _mm256_set1_ps(NAN), _mm256_castsi256_ps(none));
}

/// Eight codes of e5m2, which are the upper bytes of f16.
__m256 widenE5m2(const uint8_t *from) {
  const __m256 values =
      _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(_mm_loadl_epi64(wordsOf(from))), 8));
  return _mm256_blendv_ps(values, _mm256_set1_ps(NAN), _mm256_cmp_ps(values, values, _CMP_UNORD_Q));
}

} // namespace

void transposeRows(const float *from, uint32_t depth, float *to) {
  if (depth >= 8) {
    for (uint32_t k = 0; k < depth; k += 8)
      transpose8(from + k, depth, to + 8 * k);
    return;
  }
  for (uint32_t k = 0; k < depth; ++k)
    for (uint32_t row = 0; row < 8; ++row)
      to[k * 8 + row] = from[row * depth + k];
}

void Sums::read(float *tile) const {
  for (uint32_t half = 0; half < 2; ++half) {
    const float *even = reinterpret_cast<const float *>(words[2 * half]),
                *odd = reinterpret_cast<const float *>(words[2 * half + 1]);
    float *to = tile + 64 * half;
    for (uint32_t lane = 0; lane < 32; lane += 8) {
      __m256 x = _mm256_loadu_ps(even + lane), y = _mm256_loadu_ps(odd + lane);
      __m256 low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
      _mm256_storeu_ps(to + 2 * lane, _mm256_permute2f128_ps(low, high, 0x20));
      _mm256_storeu_ps(to + 2 * lane + 8, _mm256_permute2f128_ps(low, high, 0x31));
    }
  }
}

void Sums::write(const float *tile) const {
  for (uint32_t half = 0; half < 2; ++half) {
    float *even = reinterpret_cast<float *>(words[2 * half]),
          *odd = reinterpret_cast<float *>(words[2 * half + 1]);
    const float *from = tile + 64 * half;
    for (uint32_t lane = 0; lane < 32; lane += 8) {
      __m256 x = _mm256_loadu_ps(from + 2 * lane), y = _mm256_loadu_ps(from + 2 * lane + 8);
      __m256 low = _mm256_permute2f128_ps(x, y, 0x20), high = _mm256_permute2f128_ps(x, y, 0x31);
      _mm256_storeu_ps(even + lane, _mm256_shuffle_ps(low, high, 0x88));
      _mm256_storeu_ps(odd + lane, _mm256_shuffle_ps(low, high, 0xdd));
    }
  }
}

void Sums::readHalf(float *tile) const {
  for (uint32_t half = 0; half < 2; ++half)
    widen(Element::F16, reinterpret_cast<const uint8_t *>(words[half]), 64, tile + 64 * half);
}

void Sums::writeHalf(const float *tile) const {
  for (uint32_t half = 0; half < 2; ++half)
    for (uint32_t i = 0; i < 64; i += 8)
      _mm_storeu_si128(
          reinterpret_cast<__m128i *>(words[half] + i / 2),
          _mm256_cvtps_ph(_mm256_loadu_ps(tile + 64 * half + i), _MM_FROUND_TO_NEAREST_INT));
}

void Sums::writeSum(const Sums &addends, const float *tile, bool saturates) const {
  alignas(64) float held[16 * 8];
  addends.read(held);
  for (uint32_t i = 0; i < 16 * 8; ++i) {
    const int64_t sum = int64_t(std::bit_cast<int32_t>(held[i])) + int32_t(tile[i]);
    const int64_t kept =
        saturates ? std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX) : sum;
    held[i] = std::bit_cast<float>(uint32_t(kept));
  }
  write(held);
}

uint32_t elementBytes(Element element) {
  return element == Element::F16 || element == Element::Bf16 ? 2 : element == Element::Tf32 ? 4 : 1;
}

void widen(Element element, const uint8_t *from, uint32_t count, float *to) {
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
    for (uint32_t i = 0; i < count; i += 8)
      _mm256_storeu_ps(to + i, widenE4m3(from + i));
    return;
  case Element::E5m2:
    for (uint32_t i = 0; i < count; i += 8)
      _mm256_storeu_ps(to + i, widenE5m2(from + i));
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
