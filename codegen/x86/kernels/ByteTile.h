// SPDX-License-Identifier: Apache-2.0
// Sums of bytes for blocks of rows, by register tiles.
#pragma once

#include "codegen/x86/kernels/BytePanels.h"
#include "codegen/x86/kernels/ByteProducts.h"
#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/InputSums.h"
#include "codegen/x86/kernels/PackedInput.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// What sums of inputs are multiplied by for products to begin with them.
inline int32_t startFactor(int32_t bias) { return bias ? -bias : 1; }

/// Rows as tiles read them: packed, their sums as products begin with them, and the scales of their
/// groups.
template <class Product> struct SummedInput {
  PackedInput<Product::inputWords> rows;
  const int32_t *sums; ///< [tile][group][rows of the tile]
  const float *scales; ///< likewise; nothing where rows have one

  /// Fills `words`, `sums` and `scales`, for tiles of at most `Most` rows; `given`: the input's.
  template <int Most>
  static void take(const void *input, const float *given, const Rows &rows, int32_t *words,
                   int32_t *sums, float *scales) {
    PackedInput<Product::inputWords>::template take<Most>(input, rows, words);
    const int32_t bias = StoredPanels<Product, 1>::fits(rows.count)
                             ? StoredPanels<Product, 1>::bias()
                             : ExpandedPanels<Product, 1>::bias();
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
template <class Product, int Rows, int Panels, class Source>
[[gnu::always_inline]] inline void addTile(const Source &weights, const int32_t *words,
                                           bool isFirst, int64_t first, int64_t end,
                                           Ints (&sum)[Rows][Panels]) {
  constexpr auto parts = [] { return Source::step() == 8 ? 2 : Product::inputWords; };
#pragma clang loop unroll(disable)
  for (int64_t k = first; k < end; k += Source::step()) {
    if (isFirst)
      weights.prefetch(k);
#pragma clang loop unroll(full)
    for (int part = 0; part < 2; ++part) {
      if (part == parts())
        break;
      if (part > 0)
        readLater();
      Ints weight[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p) {
        Ints low, high;
        weights.columns(k, p, low, high);
        weight[p] = Product::inputWords > 1 ? wordsOf(low, part) : part > 0 ? high : low;
      }
      const int32_t *x = words + PackedInput<Product::inputWords>::wordsOf(k) * Rows + part * Rows;
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = Product::inputWords > 1 ? dotWords(sum[r][p], weight[p], Ints{} + x[r])
                                              : Product::dot(sum[r][p], weight[p], Ints{} + x[r]);
    }
  }
}

/// Adds the groups of `range` of `Rows` rows from `row` on to sums [rows][sumColumns()].
template <class Product, int Rows, int Panels, class Source>
inline void byteTile(const Source &weights, const SummedInput<Product> &input, GroupRange range,
                     int64_t row, float *sums) {
  const int64_t firstColumn = GroupColumns::of(range.first).first;
  const int32_t *words = input.rows.row(row) + input.rows.wordsOf(firstColumn) * Rows;
  RegisterAccumulators<Rows, Panels> totals(sums + row * sumColumns(), sumColumns());
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
        sum[r][p] = Product::sumsHalves ? Ints{} : start(r);
    if (row == 0)
      weights.prefetchScales(group);
    readLater();
    Product::addColumns(sum, own.first - firstColumn, own.end - firstColumn,
                        [&](auto &sum, int64_t first, int64_t end) __attribute__((always_inline)) {
                          addTile<Product>(weights, words, row == 0, first, end, sum);
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
        if (Product::sumsHalves)
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

/// sums [rows][sumColumns()] of a block of rows; `memory` is for ExpandedPanels.
template <class Product, int Most>
inline void byteBlock(const Weights &weights, int64_t panel, int64_t panels,
                      const SummedInput<Product> &input, int64_t rows, float *sums, char *memory) {
  const int64_t blockGroups = wholeGroups(byteBlockColumns, groupWidth()) / groupWidth();
  forPanels<tilePanels>(panels, [&]<int Panels>(int64_t p) {
    for (GroupRange range = GroupRange::leading(blockGroups); range.count() > 0;
         range = range.next(blockGroups)) {
      auto multiply = [&](const auto &source) {
        forRowTiles<Most>(rows, [&]<int Count>(int64_t row) {
          byteTile<Product, Count, Panels>(source, input, range, row, sums + p * panelRows);
        });
      };
      if (StoredPanels<Product, Panels>::fits(rows))
        multiply(StoredPanels<Product, Panels>{weights, panel + p, range.first});
      else
        multiply(ExpandedPanels<Product, Panels>(memory, weights, panel + p, range));
    }
  });
}

} // namespace ingot::x86
