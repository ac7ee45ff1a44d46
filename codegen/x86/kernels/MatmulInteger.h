// SPDX-License-Identifier: Apache-2.0
// Integer sums of the matmul kernel: i8 inputs times integer weights, exact within a group.
#pragma once

#include "codegen/x86/kernels/ByteProducts.h"
#include "codegen/x86/kernels/PackedInput.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

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
  return byHalves<Ints>([](__m256i in, __m256i of)
                            __attribute__((always_inline)) { return _mm256_shuffle_epi8(in, of); },
                        book, places);
#endif
}

/// What the bytes that weights are expanded to have been moved by, in all lanes alike: codes stay
/// as they are stored, books and bytes are signed.
inline int32_t uniformBias() {
  if (!hasFields() || ingot_const_zeros == kCodeBook)
    return int8Bias();
  return ingot_const_zeros == kNoZeros ? int32_t(middleOf(ingot_const_weight_type)) : 0;
}

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
  return hasFields() ? PanelFields::bytes(k) : k * panelRows * sizeOf(ingot_const_weight_type);
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

[[gnu::always_inline]] inline Floats toFloats(Ints sum) {
  return __builtin_convertvector(sum, Floats);
}

/// `total` with a group's exact sums of products and of inputs; `factor`: the inputs' scale, where
/// groups have one.
[[gnu::always_inline]] inline Floats closeGroup(Floats total, Floats exact, Floats scale,
                                                Floats offset, Floats inputs, float factor = 1) {
  Floats part = hasInputGroups() ? exact * scale : fma(exact, scale, total);
  if (ingot_const_zeros == kOffsets)
    part = fma(inputs, offset, part);
  return hasInputGroups() ? fma(part, splat(factor), total) : part;
}

/// Sums over the groups of a block of scale codes, exact.
struct BlockSums {
  Ints products;  ///< of inputs, weights and codes of scales
  Floats offsets; ///< of inputs and codes of offsets, whole numbers of less than 24 bits

  /// Adds a group with its numbers in units of the supers; `inputs`: the sum of its inputs.
  [[gnu::always_inline]] void add(Ints sum, Floats scale, Floats offset, int32_t inputs) {
    products += sum * __builtin_convertvector(scale, Ints);
    if (ingot_const_zeros == kOffsets)
      offsets = fma(offset, splat(float(inputs)), offsets);
  }

  /// `total` with the block's sums, which begin anew; `group`: one of the block.
  [[gnu::always_inline]] Floats close(Floats total, const Weights &weights, int64_t panel,
                                      int64_t group) {
    const Floats offset = ingot_const_zeros == kOffsets ? weights.super(panel, group, 1) : Floats{};
    total = closeGroup(total, toFloats(products), weights.super(panel, group, 0), offset, offsets);
    *this = BlockSums{};
    return total;
  }
};

/// Whether `group` is the last one of a block of scale codes.
inline bool endsBlock(int64_t group) { return (group + 1) % blockGroups() == 0; }

/// A group's sum less what zero points have added to it; `inputs` is the sum of the inputs.
[[gnu::always_inline]] inline Floats lessZeros(Ints sum, Ints zero, int32_t inputs) {
  // In f32 where all numbers are whole there: products of 32 bits take four times as long.
  constexpr int64_t inputBits = 7, wholeBits = 24;
  if (groupWidth() << (inputBits + elementBits(ingot_const_weight_type)) <= int64_t{1} << wholeBits)
    return fma(-toFloats(zero), splat(float(inputs)), toFloats(sum));
  return toFloats(sum - zero * inputs);
}

/// The scale that `group` has among those of a row of the input.
inline float scaleOf(const float *scales, int64_t group) {
  return hasInputGroups() ? scales[group * groupWidth() / inputWidth()] : 1.0f;
}

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

  /// The first `most` groups, or all where there are fewer.
  static GroupRange leading(int64_t most) { return GroupRange{0, 0}.next(most); }
  /// The `most` groups behind, or those that are left.
  GroupRange next(int64_t most) const {
    return {end, end + most < groupCount() ? end + most : groupCount()};
  }
};

/// Scales of some groups of panels, and their offsets or zero points, in scratch memory.
template <int Panels> struct PanelNumbers {
  Floats *scales; ///< [group][Panels][16]
  Floats *others; ///< likewise: offsets, or zero points, which are whole numbers

  /// `memory` is as MatmulScratch counts it, for so many groups.
  PanelNumbers(void *memory, int64_t groups)
      : scales(static_cast<Floats *>(memory)), others(scales + groups * Panels) {}

  /// Copies those of `group` of a panel, as number `place` of panel `p`.
  [[gnu::always_inline]] void copy(const Weights &weights, int64_t panel, int64_t group,
                                   int64_t place, int p) {
    scales[place * Panels + p] = weights.scale(panel, group);
    if (ingot_const_zeros == kOffsets)
      others[place * Panels + p] = weights.offset(panel, group);
    if (ingot_const_zeros == kZeroPoints)
      others[place * Panels + p] = (Floats)weights.zero(panel, group);
  }

  [[gnu::always_inline]] Floats scale(int64_t place, int p) const {
    return scales[place * Panels + p];
  }
  [[gnu::always_inline]] Floats offset(int64_t place, int p) const {
    return others[place * Panels + p];
  }
  [[gnu::always_inline]] Ints zero(int64_t place, int p) const {
    return (Ints)others[place * Panels + p];
  }
};

/// The numbers that a single row needs next, asked for while it uses those that were copied before.
template <int Panels> struct NumbersAhead {
  GroupRange used;
  int64_t panel, first; ///< of the next ones

  /// `groups`: of a panel.
  NumbersAhead(int64_t panel, GroupRange used, int64_t groups)
      : used(used), panel(used.end < groups ? panel : panel + Panels),
        first(used.end < groups ? used.end : 0) {}

  /// ask(panel, group) for some of them in each of the last groups: what comes earlier is replaced
  /// by values again.
  template <class Ask> [[gnu::always_inline]] void ask(int64_t group, Ask ask) const {
    constexpr int64_t each = 4;
    const int64_t times = (used.count() + each - 1) / each, time = group - (used.end - times);
    for (int64_t i = 0; time >= 0 && i < each; ++i)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        ask(panel + p, first + time * each + i);
  }
};

/// Panels of bytes that the path for single rows keeps in flight: memory is fastest with few
/// streams. One is too few for the dot products where lines are asked for, but not where hardware
/// follows pages.
constexpr int64_t byteRowPanels = asksSecondLevel ? 1 : 2;

/// A row of the input.
struct SummedRow {
  const int8_t *bytes;
  const int32_t *sums; ///< over each group
  const float *scales; ///< of the input's groups
};

/// Adds the groups of `range` of one row to the totals of `Panels` panels. Their numbers are copied
/// to `memory` first: where they come among the values, line by line from behind the first-level
/// cache, hardware loses the stream of these.
template <int Panels>
[[gnu::always_inline]] inline void
addGroups(const Weights &weights, int64_t panel, const SummedRow &row, GroupRange range, Ints book,
          Floats (&total)[Panels], BlockSums (&block)[Panels], void *memory) {
  const int8_t *x = row.bytes;
  const int32_t *inputs = row.sums;
  const char *values[Panels];
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    values[p] = weights.panel(panel + p);
  PanelsAhead<Panels> next = {values[0], Weights::panelBytes()};
  NumbersAhead<Panels> nextNumbers(panel, range, groupCount());
  PanelNumbers<Panels> numbers(memory, copiedGroups);
  for (int64_t group = range.first; group < range.end; ++group)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      numbers.copy(weights, panel + p, group, group - range.first, p);
  int64_t step = columnStep();
  for (int64_t group = range.first; group < range.end; ++group) {
    GroupColumns columns = GroupColumns::of(group);
    const int64_t place = group - range.first;
    Ints sum[1][Panels];
    nextNumbers.ask(group, [&](int64_t panel, int64_t group) __attribute__((always_inline)) {
      weights.askNumbers(panel, group);
    });
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      sum[0][p] = Ints{} - uniformBias() * inputs[group];
      weights.askScale(panel + Panels + p, group);
    }
    addColumns(sum, columns.first, columns.end,
               [&](Ints(&sum)[1][Panels], int64_t first, int64_t end)
                   __attribute__((always_inline)) {
#pragma clang loop unroll(disable)
                     for (int64_t k = first; k < end; k += step) {
                       next.ask(panelOffset(k));
                       Ints lowInput = splatWord(x + k);
                       Ints highInput = hasFields() ? splatWord(x + k + 4) : Ints{};
#pragma clang loop unroll(full)
                       for (int p = 0; p < Panels; ++p) {
                         Ints low, high;
                         expandColumns(values[p], k, book, low, high);
                         sum[0][p] = dot(sum[0][p], low, lowInput);
                         if (hasFields())
                           sum[0][p] = dot(sum[0][p], high, highInput);
                       }
                     }
                   });
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      Floats exact = ingot_const_zeros == kZeroPoints
                         ? lessZeros(sum[0][p], numbers.zero(place, p), inputs[group])
                         : toFloats(sum[0][p]);
      Floats offset = ingot_const_zeros == kOffsets ? numbers.offset(place, p) : Floats{};
      if (!hasExactBlocks()) {
        total[p] = closeGroup(total[p], exact, numbers.scale(place, p), offset,
                              splat(float(inputs[group])), scaleOf(row.scales, group));
        continue;
      }
      block[p].add(sum[0][p], numbers.scale(place, p), offset, inputs[group]);
      if (endsBlock(group))
        total[p] = block[p].close(total[p], weights, panel + p, group);
    }
  }
}

/// Sums of one row for `Panels` panels; `memory` is for the numbers of copiedGroups.
template <int Panels>
inline void integerRow(const Weights &weights, int64_t panel, const SummedRow &row, float *sums,
                       void *memory) {
  Floats total[Panels] = {};
  BlockSums block[Panels] = {};
  Ints book = byteBook(weights);
  for (GroupRange range = GroupRange::leading(copiedGroups); range.count() > 0;
       range = range.next(copiedGroups))
    addGroups(weights, panel, row, range, book, total, block, memory);
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    storeVector(sums + p * panelRows, total[p]);
}

/// Whether tiles have so many rows that what is done once for all of them costs little.
inline bool hasManyRows() { return ingot_const_tile_rows > 3 * registerRows; }

/// Panels as they are stored, whose bytes cost next to nothing: for few rows int8 and nibbles as
/// they are, for many only what needs no step before the product. Columns and groups count from
/// `firstGroup` on.
template <int Panels> struct StoredPanels {
  static constexpr int count = Panels;
  static bool fits(int64_t rows) {
    if (hasManyRows())
      return !hasFields() && !hasBias();
    // Zero points cost as much for each tile of rows as to expand nibbles for all.
    const bool isCheap = ingot_const_zeros != kZeroPoints || rows <= registerRows;
    const bool nibbles = ingot_const_weight_type == kI4 && ingot_const_zeros != kCodeBook;
    return !hasFields() || (nibbles && isCheap);
  }
  static int32_t bias() { return uniformBias(); }
  /// Whether sums have what zero points add.
  static bool hasZeros() { return ingot_const_zeros == kZeroPoints; }
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
  /// Asks memory for the scales of `group` of the next panels.
  [[gnu::always_inline]] void askScales(int64_t group) const {
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      weights.askScale(panel + Panels + p, firstGroup + group);
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
  static int32_t bias() {
    return ingot_const_zeros == kZeroPoints && hasFields() ? int8Bias() : uniformBias();
  }
  /// Whether sums have what zero points add: those of fields are taken off as these are expanded,
  /// unless these stay without sign; of int8 the difference is no byte.
  static bool hasZeros() {
    return ingot_const_zeros == kZeroPoints && (!hasFields() || usesHalves());
  }
  static int64_t step() { return 4; }

  const Weights &weights;
  int64_t panel;
  Ints *values; // [k / 4][Panels][16] of four bytes
  PanelNumbers<Panels> numbers;

  /// `memory` is as MatmulScratch counts it.
  ExpandedPanels(char *memory, const Weights &weights, int64_t panel, GroupRange range)
      : weights(weights), panel(panel), values(reinterpret_cast<Ints *>(memory)),
        numbers(values + Panels * roundUp(columnsOf(range), 8) / 4, range.count()), range(range) {
    Ints book = byteBook(weights);
    for (int64_t group = range.first; group < range.end; ++group)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        expand(p, group, book);
  }

  /// Four bytes of each row of panel `p`, of columns k to k + 3; those behind come `Panels` vectors
  /// later.
  [[gnu::always_inline]] const Ints *words(int64_t k, int p) const {
    return values + k / 4 * Panels + p;
  }

  [[gnu::always_inline]] void ask(int64_t) const {}
  [[gnu::always_inline]] void askScales(int64_t) const {}
  [[gnu::always_inline]] void columns(int64_t k, int p, Ints &low, Ints &) const {
    low = values[k / 4 * Panels + p];
  }
  [[gnu::always_inline]] Floats scale(int64_t group, int p) const {
    return numbers.scale(group, p);
  }
  [[gnu::always_inline]] Floats offset(int64_t group, int p) const {
    return numbers.offset(group, p);
  }
  [[gnu::always_inline]] Ints zero(int64_t group, int p) const { return numbers.zero(group, p); }

private:
  GroupRange range;

  static int64_t columnsOf(GroupRange range) {
    return GroupColumns::of(range.end - 1).end - GroupColumns::of(range.first).first;
  }

  int64_t firstColumn() const { return GroupColumns::of(range.first).first; }

  /// Panel `p` of them. Tiles of AMX ask for what follows while they multiply, others here.
  void expand(int p, int64_t group, Ints book) {
    const int64_t place = group - range.first;
    const PanelsAhead<Panels> next = {weights.panel(panel), Weights::panelBytes()};
    if (!usesTiles())
      weights.askScale(panel + p + Panels, group);
    numbers.copy(weights, panel + p, group, place, p);
    const bool lessens = ingot_const_zeros == kZeroPoints && !hasZeros();
    Ints zero = lessens ? numbers.zero(place, p) : Ints{};
    GroupColumns columns = GroupColumns::of(group);
    const char *from = weights.panel(panel + p) + panelOffset(columns.first);
    Ints *to = values + p + (columns.first - firstColumn()) / 4 * Panels;
    const int64_t count = columns.end - columns.first;
#pragma clang loop unroll_count(4)
    for (int64_t k = 0; k < count; k += columnStep()) {
      if (!usesTiles() && p == 0)
        next.ask(panelOffset(columns.first + k));
      Ints low, high;
      expandColumns(from, k, book, low, high);
      if (lessens) {
        low = biased(lessByte(low, zero));
        high = biased(lessByte(high, zero));
      }
      to[k / 4 * Panels] = low;
      if (hasFields())
        to[(k / 4 + 1) * Panels] = high;
    }
  }
};

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

/// What sums of inputs are multiplied by for products to begin with them.
inline int32_t startFactor(int32_t bias) { return bias ? -bias : 1; }

/// use.operator()<Most>() for the most rows of a register tile: few rows fill the registers with
/// exact sums, to take weights apart for as many; many leave half of them for totals.
template <class Use> [[gnu::always_inline]] inline void withByteTiles(Use use) {
  constexpr int beside = tilePanels > 1 ? tileRows / 2 : tileRows;
  return hasManyRows() ? use.template operator()<beside>() : use.template operator()<tileRows>();
}

/// The scales of the input's row `row`.
inline const float *scalesOf(const float *scales, int64_t row) {
  return scales + row * ingot_const_input_scales;
}

/// Rows as tiles read them: packed, their sums as products begin with them, and the scales of their
/// groups.
struct SummedInput {
  PackedInput rows;
  const int32_t *sums; ///< [tile][group][rows of the tile]
  const float *scales; ///< likewise; nothing where rows have one

  /// Fills `words`, `sums` and `scales`, for tiles of at most `Most` rows; `given`: the input's.
  template <int Most>
  static void take(const void *input, const float *given, const Rows &rows, int32_t *words,
                   int32_t *sums, float *scales) {
    PackedInput::take<Most>(input, rows, words);
    const int32_t bias =
        StoredPanels<1>::fits(rows.count) ? StoredPanels<1>::bias() : ExpandedPanels<1>::bias();
    forRowTiles<Most>(rows.count, [&]<int Count>(int64_t first) {
      for (int64_t row = first; row < rows.count && row < first + Count; ++row) {
        const auto *x = static_cast<const int8_t *>(input) + rows.input(row) * ingot_const_k;
        const int64_t place = first * groupCount() + row - first;
        sumGroups(x, startFactor(bias), Count, sums + place);
        for (int64_t group = 0; hasInputGroups() && group < groupCount(); ++group)
          scales[place + group * Count] = scaleOf(scalesOf(given, rows.input(row)), group);
      }
    });
  }
};

/// Adds the products of columns [first, end) to `sum`, or to halves of it. `words`: of the rows,
/// from column 0 on. `isFirst`: no tile has read these panels before.
template <int Rows, int Panels, class Source>
[[gnu::always_inline]] inline void addTile(const Source &weights, const int32_t *words,
                                           bool isFirst, int64_t first, int64_t end,
                                           Ints (&sum)[Rows][Panels]) {
  constexpr auto parts = [] { return Source::step() == 8 || usesWords() ? 2 : 1; };
#pragma clang loop unroll(disable)
  for (int64_t k = first; k < end; k += Source::step()) {
    if (isFirst)
      weights.ask(k);
#pragma clang loop unroll(full)
    for (int part = 0; part < 2; ++part) {
      if (part == parts())
        break;
      if (part > 0)
        readLater();
      Ints low[Panels], high[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p) {
        weights.columns(k, p, low[p], high[p]);
        if (usesWords())
          low[p] = part == 0 ? evenWords(low[p]) : oddWords(low[p]);
        else if (part > 0)
          low[p] = high[p];
      }
      const int32_t *x = words + PackedInput::wordsOf(k) * Rows + part * Rows;
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = dotTile(sum[r][p], low[p], Ints{} + x[r]);
    }
  }
}

/// Adds the groups of `range` of `Rows` rows from `row` on to sums [rows][sumColumns()].
template <int Rows, int Panels, class Source>
inline void integerTile(const Source &weights, const SummedInput &input, GroupRange range,
                        int64_t row, float *sums) {
  const int64_t firstColumn = GroupColumns::of(range.first).first;
  const int32_t *words = input.rows.row(row) + PackedInput::wordsOf(firstColumn) * Rows;
  RegisterTotals<Rows, Panels> totals(sums + row * sumColumns(), sumColumns());
  totals.begin(range.first == 0);
  BlockSums block[Rows][Panels] = {};
  for (int64_t group = range.first; group < range.end; ++group) {
    GroupColumns own = GroupColumns::of(group);
    const int64_t first = row * groupCount() + group * Rows;
    const int32_t *inputs = input.sums + first;
    Ints sum[Rows][Panels];
    auto start = [&](int r) __attribute__((always_inline)) {
      return Source::bias() ? Ints{} + inputs[r] : Ints{};
    };
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        sum[r][p] = usesHalves() ? Ints{} : start(r);
    if (row == 0)
      weights.askScales(group);
    readLater();
    addColumns(sum, own.first - firstColumn, own.end - firstColumn,
               [&](auto &sum, int64_t first, int64_t end) __attribute__((always_inline)) {
                 addTile(weights, words, row == 0, first, end, sum);
               });
    readLater();
    const int64_t place = group - range.first;
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      Floats scale = weights.scale(place, p);
      Floats offset = ingot_const_zeros == kOffsets ? weights.offset(place, p) : Floats{};
      Ints zero = Source::hasZeros() ? weights.zero(place, p) : Ints{};
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r) {
        if (usesHalves())
          sum[r][p] += start(r);
        const int32_t inputSum = inputs[r] / startFactor(Source::bias());
        Floats exact =
            Source::hasZeros() ? lessZeros(sum[r][p], zero, inputSum) : toFloats(sum[r][p]);
        if (hasExactBlocks()) {
          block[r][p].add(sum[r][p], scale, offset, inputSum);
          if (endsBlock(group))
            totals.add(r, p, [&](Floats total) __attribute__((always_inline)) {
              return block[r][p].close(total, weights.weights, weights.panel + p, group);
            });
          continue;
        }
        totals.add(r, p, [&](Floats total) __attribute__((always_inline)) {
          return closeGroup(total, exact, scale, offset, splat(float(inputSum)),
                            hasInputGroups() ? input.scales[first + r] : 1.0f);
        });
      }
    }
  }
  totals.end();
}

/// The sums of all rows, [row][groups].
inline void sumRows(const void *input, const Rows &rows, int32_t *sums) {
  for (int64_t row = 0; row < rows.count; ++row)
    sumGroups(static_cast<const int8_t *>(input) + rows.input(row) * ingot_const_k, 1, 1,
              sums + row * groupCount());
}

/// sums [rows][sumColumns()] of a block of rows; `memory` is for ExpandedPanels.
template <int Most>
inline void integerBlock(const Weights &weights, int64_t panel, int64_t panels,
                         const SummedInput &input, int64_t rows, float *sums, char *memory) {
  const int64_t blockGroups = blockColumns(ByteDots, groupWidth()) / groupWidth();
  auto take = [&]<int Panels>(int64_t p) {
    for (GroupRange range = GroupRange::leading(blockGroups); range.count() > 0;
         range = range.next(blockGroups)) {
      auto multiply = [&](const auto &source) {
        forRowTiles<Most>(rows, [&]<int Count>(int64_t row) {
          integerTile<Count, Panels>(source, input, range, row, sums + p * panelRows);
        });
      };
      if (StoredPanels<Panels>::fits(rows))
        multiply(StoredPanels<Panels>{weights, panel + p, range.first});
      else
        multiply(ExpandedPanels<Panels>(memory, weights, panel + p, range));
    }
  };
  int64_t p = 0;
  for (; p + tilePanels <= panels; p += tilePanels)
    take.template operator()<tilePanels>(p);
  for (; leavesPanels(tilePanels) && p < panels; ++p)
    take.template operator()<1>(p);
}

} // namespace ingot::x86
