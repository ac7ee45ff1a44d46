// SPDX-License-Identifier: Apache-2.0
// What is known of groups of the input: sums of bytes, which zero points, offsets and moved bytes
// are multiplied by, and scales.
#pragma once

#include "codegen/x86/kernels/GroupRange.h"
#include "codegen/x86/kernels/Halves.h"
#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// The scale that `group` has among those of a row of the input.
inline float scaleOf(const float *scales, int64_t group) {
  return hasInputGroups() ? scales[group * groupWidth() / inputWidth()] : 1.0f;
}

/// The scales of the input's row `row`.
inline const float *scalesOf(const float *scales, int64_t row) {
  return scales + row * ingot_const_input_scales;
}

using Longs = int64_t __attribute__((vector_size(64)));

/// Sums of eight bytes each.
[[gnu::always_inline]] inline Longs sumEights(const int8_t *x) {
  UInts moved = loadVector<UInts>(x) ^ 0x80808080u; // 128 more, without sign
#ifdef __AVX512BW__
  Longs sums = (Longs)_mm512_sad_epu8((__m512i)moved, __m512i{});
#else
  Longs sums = byHalves<Longs>(
      [](__m256i of) __attribute__((always_inline)) { return _mm256_sad_epu8(of, __m256i{}); },
      moved);
#endif
  return sums - 8 * 128;
}

/// put(sum) for each group of a row's bytes, in order; groups are parts of 64 columns, or whole
/// 64s.
template <class Put> inline void sumEqualGroups(const int8_t *x, int64_t width, Put put) {
  constexpr int64_t step = 8 * 8;
  Longs many = {};
  for (int64_t k = 0; k < ingot_const_k; k += step) {
    Longs eights = sumEights(x + k);
    if (width >= step) {
      many += eights;
      if ((k + step) % width == 0) {
        put(int32_t(__builtin_reduce_add(many)));
        many = Longs{};
      }
      continue;
    }
    if (width > 8)
      eights += __builtin_shufflevector(eights, eights, 1, 0, 3, 2, 5, 4, 7, 6);
    if (width > 16)
      eights += __builtin_shufflevector(eights, eights, 2, 3, 0, 1, 6, 7, 4, 5);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < 8; ++i)
      if (i * 8 % width == 0)
        put(int32_t(eights[i]));
  }
}

/// The sums of a row's bytes over each group times `factor`, each `stride` numbers after the other.
inline void sumGroups(const int8_t *x, int32_t factor, int64_t stride, int32_t *sums) {
  auto put = [&](int32_t sum) {
    *sums = sum * factor;
    sums += stride;
  };
  const int64_t width = groupWidth();
  if (ingot_const_k % 64 == 0 && ingot_const_k % width == 0 && (width % 64 == 0 || 64 % width == 0))
    return sumEqualGroups(x, width, put);
  for (int64_t group = 0; group < groupCount(); ++group) {
    GroupColumns columns = GroupColumns::of(group);
    int64_t k = columns.first;
    Ints many = {};
    for (; k + lanes <= columns.end; k += lanes)
      many += __builtin_convertvector(loadVector<Bytes>(x + k), Ints);
    int32_t sum = __builtin_reduce_add(many);
    for (; k < columns.end; ++k)
      sum += x[k];
    put(sum);
  }
}

/// The sums of all rows, [row][groups].
inline void sumGroupsOfRows(const void *input, const Rows &rows, int32_t *sums) {
  for (int64_t row = 0; row < rows.count; ++row)
    sumGroups(static_cast<const int8_t *>(input) + rows.input(row) * ingot_const_k, 1, 1,
              sums + row * groupCount());
}

} // namespace ingot::x86
