// SPDX-License-Identifier: Apache-2.0
// Integer sums of the matmul kernel: i8 inputs times integer weights, exact within a group.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"
#include "codegen/x86/kernels/PackedInput.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

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

/// Whether bytes of weights get 128 added; those for AMX are signed.
inline bool hasBias() { return unsignedWeights && !usesTiles(); }

/// What products see of a signed byte, less the byte.
inline int32_t int8Bias() { return hasBias() ? 128 : 0; }

/// Bytes as `dot`, or AMX, wants them.
[[gnu::always_inline]] inline Ints biased(Ints bytes) {
  return hasBias() ? (Ints)((UInts)bytes ^ 0x80808080u) : bytes;
}

/// A code book of integers as 16 bytes, in every quarter of the vector.
[[gnu::always_inline]] inline Ints byteBook(const Weights &weights) {
  if (ingot_const_zeros != kCodeBook)
    return Ints{};
  Ints numbers = __builtin_convertvector(loadVector<Floats>(weights.zeros), Ints);
  UBytes bytes = __builtin_convertvector(numbers & 255, UBytes);
  struct Quarters {
    UBytes of[4];
  };
  return __builtin_bit_cast(Ints, Quarters{{bytes, bytes, bytes, bytes}});
}

/// The numbers of the book that the bytes of `places` name.
[[gnu::always_inline]] inline Ints lookUpBytes(Ints places, Ints book) {
#ifdef __AVX512BW__
  return (Ints)_mm512_shuffle_epi8((__m512i)book, (__m512i)places);
#else
  struct Halves {
    __m256i low, high;
  };
  Halves of = __builtin_bit_cast(Halves, places), in = __builtin_bit_cast(Halves, book);
  return __builtin_bit_cast(
      Ints, Halves{_mm256_shuffle_epi8(in.low, of.low), _mm256_shuffle_epi8(in.high, of.high)});
#endif
}

/// What the bytes that weights are expanded to have been moved by, in all lanes alike: codes stay
/// as they are stored, books and bytes are signed.
inline int32_t uniformBias() {
  if (!hasFields() || ingot_const_zeros == kCodeBook)
    return int8Bias();
  return ingot_const_zeros == kNoZeros ? int32_t(middleOf(ingot_const_weight_type)) : 0;
}

/// Whether zero points are taken off bytes as they are expanded: of int8 the difference is no byte.
inline bool subtractsZeros() { return ingot_const_zeros == kZeroPoints && hasFields(); }

/// `bytes` less that of their lane.
[[gnu::always_inline]] inline Ints lessByte(Ints bytes, Ints byte) {
  using ByteLanes = uint8_t __attribute__((vector_size(64)));
  return (Ints)((ByteLanes)bytes - (ByteLanes)(byte * 0x01010101));
}
[[gnu::always_inline]] inline Ints lessByte(Ints bytes, int32_t byte) {
  return lessByte(bytes, Ints{} + byte);
}

/// Bytes of a panel before column `k`, a multiple of columnStep().
inline int64_t panelOffset(int64_t k) {
  return hasFields() ? PanelFields::bytes(k) : k * panelRows;
}

/// Columns that expandColumns takes at once.
inline int64_t columnStep() { return hasFields() ? 8 : 4; }

/// Columns [k, k + 8) of a panel as bytes; of int8 columns [k, k + 4), in `low`.
[[gnu::always_inline]] inline void expandColumns(const char *panel, int64_t k, Ints book, Ints &low,
                                                 Ints &high) {
  if (!hasFields()) {
    low = biased(loadVector<Ints>(panel + k * panelRows));
    return;
  }
  PanelFields::load(panel, k).toBytes(low, high);
  if (usesTiles() && ingot_const_zeros == kNoZeros) {
    low = lessByte(low, int32_t(middleOf(ingot_const_weight_type)));
    high = lessByte(high, int32_t(middleOf(ingot_const_weight_type)));
  }
  if (ingot_const_zeros == kCodeBook) {
    low = biased(lookUpBytes(low, book));
    high = biased(lookUpBytes(high, book));
  }
}

/// `total` with a group's exact sums of products and of inputs.
[[gnu::always_inline]] inline Floats closeGroup(Floats total, Ints exact, Floats scale,
                                                Floats offset, Floats inputs) {
  total = fma(__builtin_convertvector(exact, Floats), scale, total);
  return ingot_const_zeros == kOffsets ? fma(inputs, offset, total) : total;
}

/// Columns of a group.
inline int64_t groupWidth() { return ingot_const_group ? ingot_const_group : ingot_const_k; }

/// A group of k.
struct GroupColumns {
  int64_t first, end;

  static GroupColumns of(int64_t group) {
    const int64_t width = groupWidth(), first = group * width, end = first + width;
    // Groups of one known width are loops of one known length.
    bool whole = ingot_const_k % width == 0 || end < ingot_const_k;
    return {first, whole ? end : ingot_const_k};
  }
};

/// Some groups of k.
struct GroupRange {
  int64_t first, end;

  int64_t count() const { return end - first; }
  static GroupRange all() { return {0, Weights::groups()}; }
};

/// Sums of one row whose bytes are `x`, for `Panels` panels. `inputs`: its sums over each group.
template <int Panels>
inline void integerRow(const Weights &weights, int64_t panel, const int8_t *x,
                       const int32_t *inputs, float *sums) {
  const char *values[Panels];
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    values[p] = weights.panel(panel + p);
  Ints book = byteBook(weights);
  Floats total[Panels] = {};
  PanelsAhead<Panels> next = {values[0], Weights::panelBytes()};
  int64_t step = columnStep();
  for (int64_t group = 0; group < Weights::groups(); ++group) {
    GroupColumns columns = GroupColumns::of(group);
    Ints sum[Panels];
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      sum[p] = Ints{} - uniformBias() * inputs[group];
      weights.askScale(panel + Panels + p, group);
    }
#pragma clang loop unroll(disable)
    for (int64_t k = columns.first; k < columns.end; k += step) {
      next.ask(panelOffset(k));
      Ints lowInput = splatWord(x + k);
      Ints highInput = hasFields() ? splatWord(x + k + 4) : Ints{};
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p) {
        Ints low, high;
        expandColumns(values[p], k, book, low, high);
        sum[p] = dot(sum[p], low, lowInput);
        if (hasFields())
          sum[p] = dot(sum[p], high, highInput);
      }
    }
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      if (ingot_const_zeros == kZeroPoints)
        sum[p] -= weights.zero(panel + p, group) * inputs[group];
      Floats offset = ingot_const_zeros == kOffsets ? weights.offset(panel + p, group) : Floats{};
      total[p] = closeGroup(total[p], sum[p], weights.scale(panel + p, group), offset,
                            splat(float(inputs[group])));
    }
  }
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    storeVector(sums + p * panelRows, total[p]);
}

/// Panels as they are stored, whose bytes cost next to nothing: int8, and nibbles as they are.
/// Columns and groups count from `firstGroup` on.
template <int Panels> struct StoredPanels {
  static constexpr int count = Panels;
  static bool fits() {
    bool nibbles = ingot_const_weight_type == kI4 && ingot_const_zeros != kCodeBook;
    return (nibbles || !hasFields()) && ingot_const_zeros != kZeroPoints;
  }
  static int64_t step() { return columnStep(); }

  const Weights &weights;
  int64_t panel, firstGroup;

  /// Bytes of a panel before column `k`.
  [[gnu::always_inline]] int64_t offsetOf(int64_t k) const {
    return panelOffset(GroupColumns::of(firstGroup).first + k);
  }
  /// As ExpandedPanels has them; of int8.
  [[gnu::always_inline]] const Ints *words(int64_t k, int p) const {
    return reinterpret_cast<const Ints *>(weights.panel(panel + p) + offsetOf(k));
  }

  /// Asks memory for what follows column `k`.
  [[gnu::always_inline]] void ask(int64_t k) const {
    PanelsAhead<Panels>{weights.panel(panel), Weights::panelBytes()}.ask(offsetOf(k));
  }
  [[gnu::always_inline]] void columns(int64_t k, int p, Ints &low, Ints &high) const {
    expandColumns(weights.panel(panel + p) + offsetOf(0), k, Ints{}, low, high);
  }
  [[gnu::always_inline]] Floats scale(int64_t group, int p) const {
    return weights.scale(panel + p, firstGroup + group);
  }
  [[gnu::always_inline]] Floats offset(int64_t group, int p) const {
    return weights.offset(panel + p, firstGroup + group);
  }
  [[gnu::always_inline]] Ints zero(int64_t group, int p) const {
    return weights.zero(panel + p, firstGroup + group);
  }
};

/// Panels as bytes and f32 numbers, in scratch memory, for all rows of a block. Columns and groups
/// count from the first of a range on.
template <int Panels> struct ExpandedPanels {
  static constexpr int count = Panels;
  static int64_t step() { return 4; }

  Ints *values;   // [k / 4][Panels][16] of four bytes
  Floats *scales; // [groups][Panels][16]
  Floats *offsets;
  Ints *zeros; // those that bytes still have, in place of offsets

  /// `memory` is as MatmulScratch counts it.
  ExpandedPanels(char *memory, const Weights &weights, int64_t panel, GroupRange range)
      : range(range) {
    const int64_t columns = GroupColumns::of(range.end - 1).end - firstColumn();
    values = reinterpret_cast<Ints *>(memory);
    scales = reinterpret_cast<Floats *>(values + Panels * roundUp(columns, 8) / 4);
    offsets = scales + Panels * range.count();
    zeros = reinterpret_cast<Ints *>(offsets);
    Ints book = byteBook(weights);
    for (int64_t group = range.first; group < range.end; ++group)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        expand(weights, panel + p, p, group, book);
  }

  /// Four bytes of each row of panel `p`, of columns k to k + 3; those behind come `Panels` vectors
  /// later.
  [[gnu::always_inline]] const Ints *words(int64_t k, int p) const {
    return values + k / 4 * Panels + p;
  }

  [[gnu::always_inline]] void ask(int64_t) const {}
  [[gnu::always_inline]] void columns(int64_t k, int p, Ints &low, Ints &) const {
    low = values[k / 4 * Panels + p];
  }
  [[gnu::always_inline]] Floats scale(int64_t group, int p) const {
    return scales[group * Panels + p];
  }
  [[gnu::always_inline]] Floats offset(int64_t group, int p) const {
    return offsets[group * Panels + p];
  }
  [[gnu::always_inline]] Ints zero(int64_t group, int p) const { return zeros[group * Panels + p]; }

private:
  GroupRange range;

  int64_t firstColumn() const { return GroupColumns::of(range.first).first; }

  void expand(const Weights &weights, int64_t panel, int p, int64_t group, Ints book) {
    int64_t place = (group - range.first) * Panels + p;
    scales[place] = weights.scale(panel, group);
    if (ingot_const_zeros == kOffsets)
      offsets[place] = weights.offset(panel, group);
    Ints zero = ingot_const_zeros == kZeroPoints ? weights.zero(panel, group) : Ints{};
    if (ingot_const_zeros == kZeroPoints && !subtractsZeros())
      zeros[place] = zero;
    GroupColumns columns = GroupColumns::of(group);
    const char *from = weights.panel(panel) + panelOffset(columns.first);
    Ints *to = values + p + (columns.first - firstColumn()) / 4 * Panels;
    const int64_t count = columns.end - columns.first;
#pragma clang loop unroll_count(4)
    for (int64_t k = 0; k < count; k += columnStep()) {
      Ints low, high;
      expandColumns(from, k, book, low, high);
      if (subtractsZeros()) {
        low = biased(lessByte(low, zero));
        high = biased(lessByte(high, zero));
      }
      to[k / 4 * Panels] = low;
      if (hasFields())
        to[(k / 4 + 1) * Panels] = high;
    }
  }
};

/// Packed rows with their sums [row][groups].
struct SummedInput {
  PackedInput rows;
  const int32_t *sums;
};

/// sums [rows][columns] of `Rows` rows from `row` on. What groups add is summed in memory:
/// registers hold the exact sums.
template <int Rows, int Panels, class Source>
inline void integerTile(const Source &weights, const SummedInput &input, int64_t row, float *sums,
                        int64_t columns) {
  const int32_t *words = input.rows.row(row);
  int64_t groups = Weights::groups();
  const int32_t *inputs = input.sums + row * groups;
  int32_t bias = subtractsZeros() ? int8Bias() : uniformBias();
  for (int64_t group = 0; group < groups; ++group) {
    GroupColumns range = GroupColumns::of(group);
    Ints sum[Rows][Panels];
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        sum[r][p] = Ints{} - bias * inputs[r * groups + group];
#pragma clang loop unroll(disable)
    for (int64_t k = range.first; k < range.end; k += Source::step()) {
      if (row == 0)
        weights.ask(k);
      Ints low[Panels], high[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        weights.columns(k, p, low[p], high[p]);
      const int32_t *x = words + k / 4 * Rows;
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = dot(sum[r][p], low[p], Ints{} + x[r]);
      if (Source::step() == 8)
#pragma clang loop unroll(full)
        for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
          for (int p = 0; p < Panels; ++p)
            sum[r][p] = dot(sum[r][p], high[p], Ints{} + x[Rows + r]);
    }
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      Floats scale = weights.scale(group, p);
      Floats offset = ingot_const_zeros == kOffsets ? weights.offset(group, p) : Floats{};
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r) {
        int32_t own = inputs[r * groups + group];
        Ints exact = sum[r][p];
        if (ingot_const_zeros == kZeroPoints && !subtractsZeros())
          exact -= weights.zero(group, p) * own;
        float *to = sums + (row + r) * columns + p * panelRows;
        Floats before = group ? loadVector<Floats>(to) : Floats{};
        storeVector(to, closeGroup(before, exact, scale, offset, splat(float(own))));
      }
    }
  }
}

using Longs = int64_t __attribute__((vector_size(64)));

/// Sums of eight bytes each.
[[gnu::always_inline]] inline Longs sumEights(const int8_t *x) {
  UInts moved = loadVector<UInts>(x) ^ 0x80808080u; // 128 more, without sign
#ifdef __AVX512BW__
  Longs sums = (Longs)_mm512_sad_epu8((__m512i)moved, __m512i{});
#else
  struct Halves {
    __m256i low, high;
  };
  Halves of = __builtin_bit_cast(Halves, moved);
  Longs sums = __builtin_bit_cast(
      Longs, Halves{_mm256_sad_epu8(of.low, __m256i{}), _mm256_sad_epu8(of.high, __m256i{})});
#endif
  return sums - 8 * 128;
}

/// The sums of a row's bytes over each group; groups are parts of 64 columns, or whole 64s.
inline void sumEqualGroups(const int8_t *x, int32_t *sums, int64_t width) {
  constexpr int64_t step = 8 * 8;
  Longs many = {};
  for (int64_t k = 0; k < ingot_const_k; k += step) {
    Longs eights = sumEights(x + k);
    if (width >= step) {
      many += eights;
      if ((k + step) % width == 0) {
        *sums++ = int32_t(__builtin_reduce_add(many));
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
        *sums++ = int32_t(eights[i]);
  }
}

/// The sums of a row's bytes over each group.
inline void sumGroups(const int8_t *x, int32_t *sums) {
  const int64_t width = groupWidth();
  if (ingot_const_k % 64 == 0 && ingot_const_k % width == 0 && (width % 64 == 0 || 64 % width == 0))
    return sumEqualGroups(x, sums, width);
  for (int64_t group = 0; group < Weights::groups(); ++group) {
    GroupColumns columns = GroupColumns::of(group);
    int64_t k = columns.first;
    Ints many = {};
    for (; k + lanes <= columns.end; k += lanes)
      many += __builtin_convertvector(loadVector<Bytes>(x + k), Ints);
    int32_t sum = __builtin_reduce_add(many);
    for (; k < columns.end; ++k)
      sum += x[k];
    sums[group] = sum;
  }
}

/// The sums of all rows, [row][groups].
inline void sumRows(const void *input, const Rows &rows, int32_t *sums) {
  for (int64_t row = 0; row < rows.count; ++row)
    sumGroups(static_cast<const int8_t *>(input) + rows.input(row) * ingot_const_k,
              sums + row * Weights::groups());
}

/// The rows packed into `words` and summed into `sums`, both in scratch.
inline SummedInput packAndSum(const void *input, const Rows &rows, int32_t *words, int32_t *sums) {
  sumRows(input, rows, sums);
  return {PackedInput::of(input, rows, words), sums};
}

/// sums [rows][panels * 16] of a block of rows; `memory` is for ExpandedPanels.
inline void integerBlock(const Weights &weights, int64_t panel, int64_t panels,
                         const SummedInput &input, int64_t rows, float *sums, char *memory) {
  int64_t columns = panels * panelRows;
  auto take = [&]<int Panels>(int64_t p) {
    auto multiply = [&](const auto &source) {
      forRowTiles(rows, [&]<int Count>(int64_t row) {
        integerTile<Count, Panels>(source, input, row, sums + p * panelRows, columns);
      });
    };
    if (StoredPanels<Panels>::fits())
      multiply(StoredPanels<Panels>{weights, panel + p, 0});
    else
      multiply(ExpandedPanels<Panels>(memory, weights, panel + p, GroupRange::all()));
  };
  int64_t p = 0;
  for (; p + tilePanels <= panels; p += tilePanels)
    take.template operator()<tilePanels>(p);
  for (; p < panels; ++p)
    take.template operator()<1>(p);
}

} // namespace ingot::x86
