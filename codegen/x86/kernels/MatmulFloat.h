// SPDX-License-Identifier: Apache-2.0
// Float sums of the matmul kernel: weights decoded to f32, one fma per element in order of k.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// Whether columns come in pairs, of each the odd one first, as dotPairs takes them.
inline bool usesFloatPairs() { return ingot_const_method == FloatPairs; }

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

/// Panels of bf16 that follow each other, in pairs of columns as they are stored.
struct PairPanels {
  static constexpr int64_t step = 2;
  const char *first; ///< the first panel
  int64_t offset;    ///< of a segment's first column
  bool asks = false; ///< for what follows

  [[gnu::always_inline]] Floats column(int64_t i, int64_t j, int p) const {
    const int64_t place = offset + i * panelRows * 2;
    if (asks && j == 0)
      PanelsAhead<1>{first + p * Weights::panelBytes(), Weights::panelBytes()}.ask(place);
    auto pair = loadVector<UInts>(first + p * Weights::panelBytes() + place);
    return (Floats)(j == 0 ? pair & 0xffff0000u : pair << 16);
  }
};

/// sums[panel * 16 + lane] of one row, `Panels` panels at once. `input`: [k] f32.
template <int Panels>
[[gnu::always_inline]] inline void singleRow(const Weights &weights, int64_t panel,
                                             const float *input, float *sums) {
  Floats total[Panels] = {};
  for (int64_t first = 0; first < ingot_const_k; first += segmentColumns) {
    int64_t end = first + segmentColumns < ingot_const_k ? first + segmentColumns : ingot_const_k;
    if (usesFloatPairs()) {
      const PairPanels columns = {weights.panel(panel), first * panelRows * 2};
      Floats sum[1][Panels];
      multiplyTile<1, Panels>(input + first, 0, columns, roundUp(end - first, 2), sum);
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        total[p] += sum[0][p];
      continue;
    }
    Floats sum[Panels] = {};
    decodeColumns<Panels>(weights, panel, first, end,
                          [&](int64_t k, const Floats(&column)[Panels])
                              __attribute__((always_inline)) {
#pragma clang loop unroll(full)
                                for (int p = 0; p < Panels; ++p)
                                  sum[p] = fma(column[p], splat(input[k]), sum[p]);
                              });
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      total[p] += sum[p];
  }
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    storeVector(sums + p * panelRows, total[p]);
}

/// Columns [k, k + 16) of a row that begins with element `row`, as f32 and in the order that
/// weights have; zeros complete the last pair.
[[gnu::always_inline]] inline Floats inputColumns(const void *input, int64_t row, int64_t k) {
  Floats x = load(ingot_const_input_type, input, row + k);
  if (!usesFloatPairs())
    return x;
  if (ingot_const_k % 2 != 0)
    x = laneIndex() < int32_t(ingot_const_k - k) ? x : Floats{};
  return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}

/// Columns [first, end) of the rows, as f32, into `block` [rows][inputStride].
inline void copyInput(const void *input, const Rows &rows, int64_t paddedRows, int64_t first,
                      int64_t end, float *block) {
  for (int64_t row = 0; row < paddedRows; ++row) {
    int64_t from = row < rows.count ? rows.input(row) * ingot_const_k : 0;
    for (int64_t k = first; k < end; k += lanes) {
      Floats x = row < rows.count ? inputColumns(input, from, k) : Floats{};
      storeVector(block + row * inputStride + k - first, x);
    }
  }
}

/// Adds one segment to sums [rows][sumColumns()] for `Panels` panels.
template <int Panels, class ColumnsFor>
inline void multiplySegment(const float *block, ColumnsFor columnsFor, int64_t count, int64_t rows,
                            float *sums) {
  forRowTiles(rows, [&]<int Rows>(int64_t row) __attribute__((always_inline)) {
    Floats sum[Rows][Panels];
    multiplyTile<Rows, Panels>(block + row * inputStride, inputStride, columnsFor(row), count, sum);
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p) {
        float *to = sums + (row + r) * sumColumns() + p * panelRows;
        storeVector(to, loadVector<Floats>(to) + sum[r][p]);
      }
  });
}

/// Adds columns [first, end) of `Panels` panels for all rows; `decoded` as in MatmulScratch.
template <int Panels>
inline void addSegment(const Weights &weights, int64_t panel, const float *block, int64_t first,
                       int64_t end, int64_t rows, float *sums, float *decoded) {
  if (usesFloatPairs()) {
    PairPanels columns = {weights.panel(panel), first * panelRows * 2};
    return multiplySegment<Panels>(
        block,
        [=](int64_t row) mutable {
          columns.asks = row == 0;
          return columns;
        },
        roundUp(end - first, 2), rows, sums);
  }
  FloatPanels columns = {decoded, segmentColumns * panelRows};
  if (ingot_const_weight_type == kF32 && !ingot_const_scale_extent) {
    columns.stride = ingot_const_k * panelRows;
    columns.first = reinterpret_cast<const float *>(weights.panel(panel)) + first * panelRows;
  } else {
    for (int64_t p = 0; p < Panels; ++p)
      decodeColumns<1>(weights, panel + p, first, end,
                       [&](int64_t k, const Floats(&column)[1]) __attribute__((always_inline)) {
                         storeVector(decoded + p * columns.stride + (k - first) * panelRows,
                                     column[0]);
                       });
  }
  multiplySegment<Panels>(block, [=](int64_t) { return columns; }, end - first, rows, sums);
}

/// sums [padded rows][sumColumns()] of a block of rows; `block` and `decoded` as in MatmulScratch.
inline void manyRows(const Weights &weights, int64_t panel, int64_t panels, const void *input,
                     const Rows &rows, float *sums, float *block, float *decoded) {
  int64_t paddedRows = roundUp(rows.count, registerRows);
  for (int64_t i = 0; i < paddedRows * sumColumns(); i += lanes)
    storeVector(sums + i, Floats{});
  for (int64_t first = 0; first < ingot_const_k; first += segmentColumns) {
    int64_t end = first + segmentColumns < ingot_const_k ? first + segmentColumns : ingot_const_k;
    copyInput(input, rows, paddedRows, first, end, block);
    auto add = [&]<int Panels>(int64_t p) {
      addSegment<Panels>(weights, panel + p, block, first, end, rows.count, sums + p * panelRows,
                         decoded);
    };
    int64_t p = 0;
    for (; p + tilePanels <= panels; p += tilePanels)
      add.template operator()<tilePanels>(p);
    for (; leavesPanels(tilePanels) && p < panels; ++p)
      add.template operator()<1>(p);
  }
}

} // namespace ingot::x86
