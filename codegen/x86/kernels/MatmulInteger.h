// SPDX-License-Identifier: Apache-2.0
// Integer sums of the matmul kernel: i8 inputs times integer weights, exact within a group.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// Four bytes of the input in every lane.
[[gnu::always_inline]] inline Ints splatBytes(const int8_t *x) {
  int32_t word;
  __builtin_memcpy(&word, x, 4);
  return Ints{} + word;
}

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
/// Unsigned weights: int8 ones get 128 added, which the input's sum takes off again.
constexpr bool unsignedWeights = true;
#else
constexpr bool unsignedWeights = false;
#endif

/// sum[lane] += the four products of the lane's bytes.
[[gnu::always_inline]] inline Ints dot(Ints sum, Ints weight, Ints x) {
#if defined(__AVX512VNNI__)
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)weight, (__m512i)x);
#elif defined(__AVXVNNI__)
  struct Halves {
    __m256i low, high;
  };
  Halves s = __builtin_bit_cast(Halves, sum), w = __builtin_bit_cast(Halves, weight),
         v = __builtin_bit_cast(Halves, x);
  return __builtin_bit_cast(Ints, Halves{_mm256_dpbusd_avx_epi32(s.low, w.low, v.low),
                                         _mm256_dpbusd_avx_epi32(s.high, w.high, v.high)});
#else
  // Even and odd bytes as 16-bit numbers, two products of which fit 32 bits.
  using Words = int16_t __attribute__((vector_size(64)));
  auto multiply = [](Words a, Words b) __attribute__((always_inline)) {
#if defined(__AVX512BW__)
    return (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#else
    struct Halves {
      __m256i low, high;
    };
    Halves p = __builtin_bit_cast(Halves, a), q = __builtin_bit_cast(Halves, b);
    return __builtin_bit_cast(
        Ints, Halves{_mm256_madd_epi16(p.low, q.low), _mm256_madd_epi16(p.high, q.high)});
#endif
  };
  Words w = (Words)weight, v = (Words)x;
  return sum + multiply((w << 8) >> 8, (v << 8) >> 8) + multiply(w >> 8, v >> 8);
#endif
}

/// What `dot` sees of a stored byte, less the byte.
constexpr int32_t int8Bias = unsignedWeights ? 128 : 0;

/// Sums of products over columns [first, end) of `Rows` rows and `Panels` panels. `first` is a
/// multiple of 8; where `end` is not, the weight is padded and the input rows hold zeros.
template <int Rows, int Panels>
[[gnu::always_inline]] inline void integerTile(const int8_t *x, int64_t stride,
                                               const char *const (&values)[Panels], int64_t first,
                                               int64_t end, Ints (&result)[Rows][Panels]) {
  Ints sum[Rows][Panels] = {};
  if (hasFields()) {
#pragma clang loop unroll(disable)
    for (int64_t k = first; k < end; k += 8) {
      Ints low[Panels], high[Panels];
      for (int p = 0; p < Panels; ++p)
        PanelFields<WeightFields>::load(values[p], k).toBytes(low[p], high[p]);
      for (int r = 0; r < Rows; ++r) {
        Ints lowInput = splatBytes(x + r * stride + k),
             highInput = splatBytes(x + r * stride + k + 4);
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = dot(dot(sum[r][p], low[p], lowInput), high[p], highInput);
      }
    }
  } else {
#pragma clang loop unroll(disable)
    for (int64_t k = first; k < end; k += 4) {
      Ints weight[Panels];
      for (int p = 0; p < Panels; ++p) {
        weight[p] = loadVector<Ints>(values[p] + k * panelRows);
        if (unsignedWeights)
          weight[p] = (Ints)((UInts)weight[p] ^ 0x80808080u);
      }
      for (int r = 0; r < Rows; ++r) {
        Ints input = splatBytes(x + r * stride + k);
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = dot(sum[r][p], weight[p], input);
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int p = 0; p < Panels; ++p)
      result[r][p] = sum[r][p];
}

/// Rows of the input as the tiles read them, and their sums over each group.
struct IntegerInput {
  const int8_t *rows;
  int64_t stride;
  const int32_t *sums; // [rows][groups]
};

/// sums [rows][columns] for `Panels` panels and `Rows` rows, all groups.
template <int Rows, int Panels>
inline void integerColumns(const Weights &weights, int64_t panel, const IntegerInput &input,
                           int64_t row, float *sums, int64_t columns) {
  const char *values[Panels];
  for (int p = 0; p < Panels; ++p)
    values[p] = weights.panel(panel + p);
  int64_t groups = Weights::groups();
  int64_t width = ingot_const_group ? ingot_const_group : ingot_const_k;
  for (int64_t group = 0; group < groups; ++group) {
    int64_t first = group * width;
    int64_t end = first + width < ingot_const_k ? first + width : ingot_const_k;
    Ints sum[Rows][Panels];
    integerTile<Rows, Panels>(input.rows + row * input.stride, input.stride, values, first, end,
                              sum);
    for (int p = 0; p < Panels; ++p) {
      Floats scale = weights.scale(panel + p, group);
      Ints bias = Ints{} + (hasFields() ? 0 : int8Bias);
      if (ingot_const_zeros == kZeroPoints)
        bias += weights.zero(panel + p, group);
      else
        bias += int32_t(middleOf(ingot_const_weight_type));
      for (int r = 0; r < Rows; ++r) {
        Ints exact = sum[r][p] - bias * input.sums[(row + r) * groups + group];
        float *to = sums + (row + r) * columns + p * panelRows;
        Floats before = group ? loadVector<Floats>(to) : Floats{};
        storeVector(to, before + __builtin_convertvector(exact, Floats) * scale);
      }
    }
  }
}

/// The input of `rows` for tiles that reach up to `paddedRows`, which get zeros; `rowSums` and
/// `copy` lie in scratch. One row is read in place if it needs no padding.
inline IntegerInput prepareInput(const int8_t *input, const Rows &rows, int64_t paddedRows,
                                 int32_t *rowSums, int8_t *copy) {
  int64_t groups = Weights::groups();
  int64_t width = ingot_const_group ? ingot_const_group : ingot_const_k;
  IntegerInput result = {input + rows.input(0) * ingot_const_k, ingot_const_k, rowSums};
  if (paddedRows > 1 || ingot_const_k % 8 != 0) {
    result = {copy, integerStride(ingot_const_k), rowSums};
    for (int64_t row = 0; row < paddedRows; ++row) {
      int8_t *to = copy + row * result.stride;
      int64_t count = row < rows.count ? ingot_const_k : 0;
      __builtin_memcpy(to, input + (count ? rows.input(row) * ingot_const_k : 0), count);
      __builtin_memset(to + count, 0, result.stride - count);
    }
  }
  for (int64_t row = 0; row < paddedRows; ++row)
    for (int64_t group = 0; group < groups; ++group) {
      int64_t first = group * width;
      int64_t end = first + width < ingot_const_k ? first + width : ingot_const_k;
      int32_t sum = 0;
      for (int64_t k = first; k < end; ++k)
        sum += result.rows[row * result.stride + k];
      rowSums[row * groups + group] = sum;
    }
  return result;
}

} // namespace ingot::x86
