// SPDX-License-Identifier: Apache-2.0
// Weights decoded to f32.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// Unsigned integers less the middle of their range, where no zero point will be taken off.
[[gnu::always_inline]] inline Floats lessMiddle(Floats numbers) {
  return ingot_const_zeros == kNoZeros ? numbers - float(middleOf(ingot_const_weight_type))
                                       : numbers;
}

/// What elements of up to four bits stand for before they meet a zero point: the code book, or i
/// less the middle, or i.
[[gnu::always_inline]] inline Floats fieldTable(const Weights &weights) {
  if (ingot_const_zeros == kCodeBook)
    return loadVector<Floats>(weights.zeros);
  return lessMiddle(__builtin_convertvector(laneIndex(), Floats));
}

/// Number `i` of the table, i being the low four bits of each lane; higher bits are ignored.
[[gnu::always_inline]] inline Floats lookUp(UInts bits, Floats table) {
#ifdef __AVX512F__
  return (Floats)_mm512_permutexvar_ps((__m512i)bits, (__m512)table);
#else
  Ints stored = (Ints)(bits & 15);
  if (ingot_const_zeros != kCodeBook)
    return lessMiddle(__builtin_convertvector(stored, Floats));
  // Eight numbers a register: the low three bits choose in either half, the fourth the half.
  struct Halves {
    __m256 low, high;
  };
  struct Indices {
    __m256i low, high;
  };
  Halves numbers = __builtin_bit_cast(Halves, table);
  Indices indices = __builtin_bit_cast(Indices, stored);
  auto choose = [&](__m256i index) __attribute__((always_inline)) {
    __m256 fourth = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(numbers.low, index),
                            _mm256_permutevar8x32_ps(numbers.high, index), fourth);
  };
  return __builtin_bit_cast(Floats, Halves{choose(indices.low), choose(indices.high)});
#endif
}

/// What elements of any bits below 8 stand for, likewise; of up to four bits higher ones are
/// ignored.
[[gnu::always_inline]] inline Floats numberOf(UInts bits, Floats table) {
  if (elementBits(ingot_const_weight_type) <= 4)
    return lookUp(bits, table);
  return lessMiddle(__builtin_convertvector((Ints)bits, Floats));
}

/// What a group's scale multiplies and what is added to the product.
struct GroupNumbers {
  Floats scale, zero, offset;

  [[gnu::always_inline]] static GroupNumbers of(const Weights &weights, int64_t panel,
                                                int64_t group) {
    GroupNumbers numbers = {splat(1.0f), Floats{}, Floats{}};
    if (ingot_const_scale_extent)
      numbers.scale = weights.scale(panel, group);
    if (ingot_const_zeros == kZeroPoints)
      numbers.zero = __builtin_convertvector(weights.zero(panel, group), Floats);
    if (ingot_const_zeros == kOffsets)
      numbers.offset = weights.offset(panel, group);
    return numbers;
  }

  [[gnu::always_inline]] Floats value(Floats stored) const {
    if (ingot_const_zeros == kZeroPoints)
      stored -= zero;
    if (ingot_const_scale_extent)
      stored *= scale;
    return ingot_const_zeros == kOffsets ? stored + offset : stored;
  }
};

/// Calls use(k, w) for k in [first, end), in order, with the f32 values of column k of `Panels`
/// panels. `first` is a multiple of 8.
template <int Panels, class Use>
[[gnu::always_inline]] inline void decodeColumns(const Weights &weights, int64_t panel,
                                                 int64_t first, int64_t end, Use use) {
  const char *values[Panels];
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    values[p] = weights.panel(panel + p);
  Floats table = fieldTable(weights);
  while (first < end) {
    int64_t group = ingot_const_group ? first / ingot_const_group : 0;
    int64_t stop = ingot_const_group && (group + 1) * ingot_const_group < end
                       ? (group + 1) * ingot_const_group
                       : end;
    GroupNumbers numbers[Panels];
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      numbers[p] = GroupNumbers::of(weights, panel + p, group);
    auto decodeBlock = [&](int64_t k, int64_t count) __attribute__((always_inline)) {
      PanelFields fields[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        fields[p] = PanelFields::load(values[p], k);
#pragma clang loop unroll(full)
      for (int i = 0; i < 8; ++i) {
        if (i >= count)
          break;
        Floats column[Panels];
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          column[p] = numbers[p].value(numberOf(fields[p].column(i), table));
        use(k + i, column);
      }
    };
    if (hasFields()) {
      for (; first + 8 <= stop; first += 8)
        decodeBlock(first, 8);
      if (first < stop)
        decodeBlock(first, stop - first);
    } else {
#pragma clang loop unroll_count(4)
      for (; first < stop; ++first) {
        Floats column[Panels];
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          column[p] = numbers[p].value(load(ingot_const_weight_type, values[p], first * panelRows));
        use(first, column);
      }
    }
    first = stop;
  }
}

} // namespace ingot::x86
