// SPDX-License-Identifier: Apache-2.0
// Products of weights and inputs of bytes, four columns of a lane at a time: with VNNI, or as AVX2
// and AVX-512 without it have them.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
/// Unsigned weights: int8 ones get 128 added, which the input's sum takes off again.
constexpr bool unsignedWeights = true;
#else
constexpr bool unsignedWeights = false;
#endif

/// Lanes as 16-bit numbers.
using Words = int16_t __attribute__((vector_size(64)));

/// A vector as two registers.
struct Halves {
  __m256i low, high;
};

/// use(...) of the vectors' low halves, and of their high ones.
template <class To, class Use, class... Of>
[[gnu::always_inline]] inline To byHalves(Use use, Of... of) {
  return __builtin_bit_cast(To, Halves{use(__builtin_bit_cast(Halves, of).low...),
                                       use(__builtin_bit_cast(Halves, of).high...)});
}

/// The four products of a lane's bytes, weights without sign, in two words; limited to 16 bits.
[[gnu::always_inline]] inline Words multiplyBytes(Ints weight, Ints x) {
#ifdef __AVX512BW__
  return (Words)_mm512_maddubs_epi16((__m512i)weight, (__m512i)x);
#else
  return byHalves<Words>([](__m256i w, __m256i x)
                             __attribute__((always_inline)) { return _mm256_maddubs_epi16(w, x); },
                         weight, x);
#endif
}

/// The sum of the two products of a lane's words.
[[gnu::always_inline]] inline Ints multiplyWords(Words a, Words b) {
#ifdef __AVX512BW__
  return (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
  return byHalves<Ints>([](__m256i a, __m256i b)
                            __attribute__((always_inline)) { return _mm256_madd_epi16(a, b); },
                        a, b);
#endif
}

/// The even and the odd bytes of lanes as words.
[[gnu::always_inline]] inline Ints evenWords(Ints bytes) {
  return (Ints)((Words)((UInts)bytes << 8) >> 8);
}
[[gnu::always_inline]] inline Ints oddWords(Ints bytes) { return (Ints)((Words)bytes >> 8); }

/// Whether codes of weights are summed in 16 bits first.
inline bool usesHalves() { return ingot_const_method == ByteHalves; }

/// Whether tiles multiply words: evenWords and oddWords of weights, and of inputs.
inline bool usesWords() { return ingot_const_method == ByteWords; }

/// sum[lane] += the four products of the lane's bytes; with halves in two words, for a while.
[[gnu::always_inline]] inline Ints dot(Ints sum, Ints weight, Ints x) {
#if defined(__AVX512VNNI__)
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)weight, (__m512i)x);
#elif defined(__AVXVNNI__)
  return byHalves<Ints>([](__m256i sum, __m256i w, __m256i x) __attribute__((
                            always_inline)) { return _mm256_dpbusd_avx_epi32(sum, w, x); },
                        sum, weight, x);
#else
  if (usesHalves())
    return (Ints)((Words)sum + multiplyBytes(weight, x));
  return sum + multiplyWords((Words)evenWords(weight), (Words)evenWords(x)) +
         multiplyWords((Words)oddWords(weight), (Words)oddWords(x));
#endif
}

/// The same of what a tile multiplies, which may be words.
[[gnu::always_inline]] inline Ints dotTile(Ints sum, Ints weight, Ints x) {
  return usesWords() ? sum + multiplyWords((Words)weight, (Words)x) : dot(sum, weight, x);
}

/// add(sum, first, end) for columns [first, end), with sums in 16 bits for as many at a time as
/// these hold.
template <int Rows, int Panels, class Add>
[[gnu::always_inline]] inline void addColumns(Ints (&sum)[Rows][Panels], int64_t first, int64_t end,
                                              Add add) {
  if (!usesHalves())
    return add(sum, first, end);
  const int64_t step = halfColumns(elementBits(ingot_const_weight_type));
  const bool atOnce = groupWidth() <= step;
#pragma clang loop unroll(disable)
  for (int64_t k = first; k < end; k += step) {
    Ints halves[Rows][Panels] = {};
    add(halves, k, end - k < step ? end : k + step);
    readLater();
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        sum[r][p] += multiplyWords((Words)halves[r][p], Words{} + 1);
    if (atOnce)
      break;
  }
}

} // namespace ingot::x86
