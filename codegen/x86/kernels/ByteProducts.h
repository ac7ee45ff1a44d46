// SPDX-License-Identifier: Apache-2.0
// Products of weights and inputs of bytes, four columns of a lane at a time.
#pragma once

#include "codegen/x86/kernels/ByteWeights.h"
#include "codegen/x86/kernels/Halves.h"

namespace ingot::x86 {

/// Lanes as 16-bit numbers.
using Words = int16_t __attribute__((vector_size(64)));

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

/// The even (`part` = 0) or odd (1) bytes of lanes as words.
[[gnu::always_inline]] inline Ints wordsOf(Ints bytes, int part) {
  return (Ints)((part == 0 ? (Words)((UInts)bytes << 8) : (Words)bytes) >> 8);
}

/// sum[lane] += the two products of the lane's words.
[[gnu::always_inline]] inline Ints dotWords(Ints sum, Ints weight, Ints x) {
  return sum + multiplyWords((Words)weight, (Words)x);
}

/// How a method multiplies bytes in registers, unless it says otherwise. Besides, it has
///   Ints dot(Ints sum, Ints weight, Ints x)
/// which is `sum` with the four products of each lane's bytes.
struct ByteProduct : ByteForm {
  /// Words of the input that four bytes of it become where tiles multiply them.
  static constexpr int inputWords = 1;
  /// Whether `dot` adds to sums of 16 bits, two in a lane, which addColumns begins and adds to
  /// those of 32.
  static constexpr bool sumsHalves = false;

  /// add(sum, first, end) for columns [first, end).
  template <int Rows, int Panels, class Add>
  [[gnu::always_inline]] static void addColumns(Ints (&sum)[Rows][Panels], int64_t first,
                                                int64_t end, Add add) {
    add(sum, first, end);
  }
};

} // namespace ingot::x86
