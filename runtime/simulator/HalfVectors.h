// SPDX-License-Identifier: Apache-2.0
// Arithmetic of packed f16 and bf16, eight numbers at a time.
#pragma once

#include <immintrin.h>

namespace ingot::simulator {

struct F16Vector {
  static __m256 widen(__m128i bits) { return _mm256_cvtph_ps(bits); }
  static __m128i narrow(__m256 values) {
    return _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT);
  }
  /// Whether rounding the values, already rounded to f32, could differ from rounding once: they
  /// lie between two f16, or where f16 has fewer bits.
  static bool rounding(__m256 values) {
    __m256i bits = _mm256_castps_si256(values);
    __m256i middle = _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x1fff)),
                                        _mm256_set1_epi32(0x1000));
    __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), values);
    __m256 small = _mm256_and_ps(_mm256_cmp_ps(size, _mm256_set1_ps(0x1p-14f), _CMP_LT_OQ),
                                 _mm256_cmp_ps(size, _mm256_setzero_ps(), _CMP_NEQ_OQ));
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_castsi256_ps(middle), small));
  }
};

struct Bf16Vector {
  static __m256 widen(__m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static __m128i narrow(__m256 values) {
    __m256i bits = _mm256_castps_si256(values);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7fff), nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
  }
  static bool rounding(__m256 values) {
    __m256i bits = _mm256_castps_si256(values);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(
        _mm256_and_si256(bits, _mm256_set1_epi32(0xffff)), _mm256_set1_epi32(0x8000)));
  }
};

/// a + b rounded to odd, so that rounding the result to fewer bits is exact.
inline __m256 addToOdd(__m256 a, __m256 b) {
  __m256 sum = _mm256_add_ps(a, b);
  __m256 part = _mm256_sub_ps(sum, a);
  __m256 rest = _mm256_add_ps(_mm256_sub_ps(a, _mm256_sub_ps(sum, part)), _mm256_sub_ps(b, part));
  const __m256 zero = _mm256_setzero_ps();
  __m256i bits = _mm256_castps_si256(sum);
  __m256i inexact = _mm256_castps_si256(
      _mm256_and_ps(_mm256_cmp_ps(rest, zero, _CMP_NEQ_OQ), _mm256_cmp_ps(sum, zero, _CMP_NEQ_OQ)));
  __m256i even =
      _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(1)), _mm256_setzero_si256());
  // One step in magnitude: up where sum and rest have the same sign, else down.
  __m256i opposite = _mm256_srai_epi32(_mm256_xor_si256(bits, _mm256_castps_si256(rest)), 31);
  __m256i step = _mm256_or_si256(opposite, _mm256_set1_epi32(1));
  step = _mm256_and_si256(step, _mm256_and_si256(inexact, even));
  return _mm256_castsi256_ps(_mm256_add_epi32(bits, step));
}

// `quick` is rounded to f32, `apply` so that a second rounding is exact.
struct VectorAdd {
  static __m256 quick(__m256 a, __m256 b, __m256) { return _mm256_add_ps(a, b); }
  static __m256 apply(__m256 a, __m256 b, __m256) { return addToOdd(a, b); }
};
struct VectorSub {
  static __m256 quick(__m256 a, __m256 b, __m256) { return _mm256_sub_ps(a, b); }
  static __m256 apply(__m256 a, __m256 b, __m256) {
    return addToOdd(a, _mm256_xor_ps(b, _mm256_set1_ps(-0.0f)));
  }
};
struct VectorMul {
  static __m256 quick(__m256 a, __m256 b, __m256) { return _mm256_mul_ps(a, b); }
  static __m256 apply(__m256 a, __m256 b, __m256) { return _mm256_mul_ps(a, b); }
};
struct VectorFma {
  static __m256 quick(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
  static __m256 apply(__m256 a, __m256 b, __m256 c) { return addToOdd(_mm256_mul_ps(a, b), c); }
};

} // namespace ingot::simulator
