// SPDX-License-Identifier: Apache-2.0
// Panels as blocks of rows multiply their bytes: as they are stored, or expanded in scratch memory.
#pragma once

#include "codegen/x86/kernels/ByteWeights.h"
#include "codegen/x86/kernels/PanelNumbers.h"

namespace ingot::x86 {

/// Whether tiles have so many rows that what is done once for all of them costs little.
inline bool hasManyRows() { return ingot_const_tile_rows > 3 * registerRows; }

/// Panels as they are stored, whose bytes cost next to nothing: for few rows int8 and nibbles as
/// they are, for many only what needs no step before the product. Columns and groups count from
/// `firstGroup` on.
template <class Form, int Panels> struct StoredPanels {
  static bool fits(int64_t rows) {
    if (hasManyRows())
      return !hasFields() && !Form::bias;
    // Zero points cost as much for each tile of rows as to expand nibbles for all.
    const bool isCheap = ingot_const_zeros != kZeroPoints || rows <= registerRows;
    const bool nibbles = ingot_const_weight_type == kI4 && ingot_const_zeros != kCodeBook;
    return !hasFields() || (nibbles && isCheap);
  }
  static int32_t bias() { return uniformBias<Form>(); }
  /// Whether sums have what zero points add.
  static bool hasZeros() { return ingot_const_zeros == kZeroPoints; }
  static int64_t step() { return columnStep(); }

  const Weights &weights;
  int64_t panel, firstGroup;

  /// Bytes of a panel before column `k`.
  [[gnu::always_inline]] int64_t offsetOf(int64_t k) const {
    return Weights::panelOffset(GroupColumns::of(firstGroup).first + k);
  }
  /// As ExpandedPanels has them; of int8.
  [[gnu::always_inline]] const Ints *words(int64_t k, int p) const {
    return reinterpret_cast<const Ints *>(weights.panel(panel + p) + offsetOf(k));
  }

  /// Prefetches what follows column `k`.
  [[gnu::always_inline]] void prefetch(int64_t k) const {
    PanelsAhead<Panels>{weights.panel(panel), Weights::panelBytes()}.prefetch(offsetOf(k));
  }
  /// Prefetches the scales of `group` of the next panels.
  [[gnu::always_inline]] void prefetchScales(int64_t group) const {
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      weights.prefetchScale(panel + Panels + p, firstGroup + group);
  }
  [[gnu::always_inline]] void columns(int64_t k, int p, Ints &low, Ints &high) const {
    expandColumns<Form>(weights.panel(panel + p) + offsetOf(0), k, Ints{}, low, high);
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
template <class Form, int Panels> struct ExpandedPanels {
  static int32_t bias() {
    return ingot_const_zeros == kZeroPoints && hasFields() ? Form::bias : uniformBias<Form>();
  }
  /// Whether sums have what zero points add: those of fields are taken off as these are expanded,
  /// unless these keep their codes; of int8 the difference is no byte.
  static bool hasZeros() {
    return ingot_const_zeros == kZeroPoints && (!hasFields() || Form::keepsCodes);
  }
  static int64_t step() { return 4; }

  const Weights &weights;
  int64_t panel;
  Ints *values; // [k / 4][Panels][16] of four bytes
  PanelNumbers<Panels> numbers;

  /// `memory`: bytePanelBytes for each of them.
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

  [[gnu::always_inline]] void prefetch(int64_t) const {}
  [[gnu::always_inline]] void prefetchScales(int64_t) const {}
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

  /// Panel `p` of them.
  void expand(int p, int64_t group, Ints book) {
    const int64_t place = group - range.first;
    const PanelsAhead<Panels> next = {weights.panel(panel), Weights::panelBytes()};
    if (Form::prefetches)
      weights.prefetchScale(panel + p + Panels, group);
    numbers.copy(weights, panel + p, group, place, p);
    const bool lessens = ingot_const_zeros == kZeroPoints && !hasZeros();
    Ints zero = lessens ? numbers.zero(place, p) : Ints{};
    GroupColumns columns = GroupColumns::of(group);
    const char *from = weights.panel(panel + p) + Weights::panelOffset(columns.first);
    Ints *to = values + p + (columns.first - firstColumn()) / 4 * Panels;
    const int64_t count = columns.end - columns.first;
#pragma clang loop unroll_count(4)
    for (int64_t k = 0; k < count; k += columnStep()) {
      if (Form::prefetches && p == 0)
        next.prefetch(Weights::panelOffset(columns.first + k));
      Ints low, high;
      expandColumns<Form>(from, k, book, low, high);
      if (lessens) {
        low = biased<Form>(lessByte(low, zero));
        high = biased<Form>(lessByte(high, zero));
      }
      to[k / 4 * Panels] = low;
      if (hasFields())
        to[(k / 4 + 1) * Panels] = high;
    }
  }
};

} // namespace ingot::x86
