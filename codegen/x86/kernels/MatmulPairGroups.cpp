// SPDX-License-Identifier: Apache-2.0
// Products of floats with encoded weights by dot products of bf16: registers sum a group, whose
// sums are scaled outside.
#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/PairedWeights.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {
namespace {

/// Sums of a register tile of panels that are taken apart, at most: beside them are totals, the
/// columns of two panels and a pair.
constexpr int pairSums = 8;

/// Whether so few rows are multiplied that panels are taken apart for each tile of them.
constexpr bool readsStored(int64_t rows) { return rows <= registerRows; }

/// Calls tile.operator()<Rows>(row) for register tiles that cover `rows` rows: their sums, totals
/// and a panel's columns stay in registers.
template <class Tile> [[gnu::always_inline]] inline void forPairTiles(int64_t rows, Tile tile) {
  constexpr int most = pairSums / 2, expandedMost = tilePanels > 1 ? tileRows / 2 : tileRows;
  if (!readsStored(rows))
    return forRowTiles<expandedMost>(rows, tile);
  int64_t row = 0;
  for (; rows - row > 2; row += most)
    tile.template operator()<most>(row);
  if (rows - row == 2)
    tile.template operator()<2>(row);
  else if (rows - row == 1)
    tile.template operator()<1>(row);
}

/// Rows of the input as register tiles read them.
struct PackedPairs {
  const int32_t *words; ///< [tile][k / 8][part][4][rows of the tile]
  const float *sums;    ///< over groups [row][groups], where products need them

  /// Words of eight columns of a row.
  static int64_t blockWords() { return 4 * pairInputParts(); }

  /// Those of the tile that begins with row `row`.
  const int32_t *row(int64_t row) const { return words + row * (ingot_const_k / 8) * blockWords(); }

  /// Fills `words` and `sums`. In place of rows that tiles reach beyond `rows` is their first one.
  static void take(const void *input, const Rows &rows, int32_t *words, float *sums) {
    forPairTiles(rows.count, [&]<int Count>(int64_t first) {
      int32_t *tile = words + first * (ingot_const_k / 8) * blockWords();
      for (int64_t r = 0; r < Count; ++r) {
        const int64_t row = first + r < rows.count ? first + r : first;
        splitRow(input, rows, row, sums + row * pairedGroups(),
                 [&](int64_t k, int64_t part, Shorts pairs) {
                   int32_t word[8];
                   storeVector(word, pairs);
#pragma clang loop unroll(full)
                   for (int64_t i = 0; i < 8; ++i)
                     tile[((k / 8 + i / 4) * blockWords() + part * 4 + i % 4) * Count + r] =
                         word[i];
                 });
      }
    });
  }
};

/// Panels as they are stored. Groups count from the first of all on.
template <int Panels> struct StoredPairs {
  static constexpr int count = Panels;
  using Columns = PairColumns;

  const Weights &weights;
  int64_t panel, parts;
  PairNumbers numbers[weightParts];

  StoredPairs(const Weights &weights, int64_t panel)
      : weights(weights), panel(panel), parts(PairNumbers::parts(weights)),
        numbers{{weights, 0}, {weights, 1}, {weights, 2}} {}

  /// Prefetches what follows column `k`, and for the scales of `group`, of the next panels.
  [[gnu::always_inline]] void prefetch(int64_t k) const {
    PanelsAhead<Panels>{weights.panel(panel), Weights::panelBytes()}.prefetch(
        Weights::panelOffset(k));
  }
  [[gnu::always_inline]] void prefetchScales(int64_t group) const {
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      weights.prefetchScale(panel + Panels + p, group * pairedWidth() / groupWidth());
  }

  [[gnu::always_inline]] Columns columns(int64_t k, int p) const {
    return PairColumns::load(weights.panel(panel + p), k);
  }
  [[gnu::always_inline]] Ints pair(const Columns &columns, int64_t part, int i) const {
    return columns.pair(i, numbers[part]);
  }
  [[gnu::always_inline]] Floats scale(int64_t group, int p) const {
    return pairedScale(weights, panel + p, group);
  }
  [[gnu::always_inline]] Floats offset(int64_t group, int p, Floats scale) const {
    return pairedOffset(weights, panel + p, group, scale);
  }
};

/// Some groups of panels in scratch memory.
template <int Panels> struct ExpandedPairs {
  static constexpr int count = Panels;
  using Columns = const Ints *;

  int64_t parts, first;
  PairedPanel panels[Panels];

  ExpandedPairs(char *memory, const Weights &weights, int64_t panel, GroupRange range)
      : parts(PairNumbers::parts(weights)), first(range.first) {
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      panels[p] =
          PairedPanel::expand<true>(memory + p * PairedPanel::bytes(), weights, panel + p, range);
  }

  [[gnu::always_inline]] void prefetch(int64_t) const {}
  [[gnu::always_inline]] void prefetchScales(int64_t) const {}
  [[gnu::always_inline]] Columns columns(int64_t k, int p) const {
    return panels[p].values + (k - first * pairedWidth()) / 2;
  }
  [[gnu::always_inline]] Ints pair(Columns columns, int64_t part, int i) const {
    return columns[part * panels[0].partWords + i];
  }
  [[gnu::always_inline]] Floats scale(int64_t group, int p) const {
    return panels[p].scales[group - first];
  }
  [[gnu::always_inline]] Floats offset(int64_t group, int p, Floats) const {
    return panels[p].offsets[group - first];
  }
};

/// A panel as it is stored, for a single row, with the numbers of some groups in scratch memory
/// (see addGroups).
struct RowPairs : StoredPairs<1> {
  PanelNumbers<1> copied;
  GroupRange range = {0, 0};

  /// `memory` is for copiedGroups.
  RowPairs(const Weights &weights, int64_t panel, void *memory)
      : StoredPairs(weights, panel), copied(memory, copiedGroups) {}

  /// Copies the numbers of `groups`.
  void take(GroupRange groups) {
    range = groups;
    for (int64_t group = range.first; group < range.end; ++group) {
      const int64_t place = group - range.first;
      copied.scales[place] = pairedScale(weights, panel, group);
      if (needsGroupSums())
        copied.others[place] = pairedOffset(weights, panel, group, copied.scales[place]);
    }
  }

  [[gnu::always_inline]] void prefetchScales(int64_t group) const {
    StoredPairs::prefetchScales(group);
    NumbersAhead<1>(panel, range, pairedGroups())
        .prefetch(group, [&](int64_t panel, int64_t group) __attribute__((always_inline)) {
          weights.prefetchNumbers(panel, group * pairedWidth() / groupWidth());
        });
  }
  [[gnu::always_inline]] Floats scale(int64_t group, int) const {
    return copied.scale(group - range.first, 0);
  }
  [[gnu::always_inline]] Floats offset(int64_t group, int, Floats) const {
    return copied.offset(group - range.first, 0);
  }
};

/// Adds the groups of `range` of `Rows` rows from `row` on to sums [rows][sumColumns()].
template <int Rows, class Source>
inline void pairGroupsTile(const Source &source, const PackedPairs &input, GroupRange range,
                           int64_t row, float *sums) {
  constexpr int Panels = Source::count;
  RegisterAccumulators<Rows, Panels> totals(sums + row * sumColumns(), sumColumns());
  totals.begin(range.first == 0);
  for (int64_t group = range.first; group < range.end; ++group) {
    Floats sum[Rows][Panels] = {};
    if (row == 0)
      source.prefetchScales(group);
#pragma clang loop unroll(disable)
    for (int64_t k = group * pairedWidth(); k < (group + 1) * pairedWidth(); k += 8) {
      if (row == 0)
        source.prefetch(k);
      typename Source::Columns stored[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        stored[p] = source.columns(k, p);
      const int32_t *words = input.row(row) + k / 8 * PackedPairs::blockWords() * Rows;
#pragma clang loop unroll(disable)
      for (int64_t part = 0; part < source.parts; ++part)
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; ++i) {
          Ints pair[Panels];
#pragma clang loop unroll(full)
          for (int p = 0; p < Panels; ++p)
            pair[p] = source.pair(stored[p], part, i);
          for (int64_t x = 0; x < pairInputParts(); ++x)
#pragma clang loop unroll(full)
            for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
              for (int p = 0; p < Panels; ++p)
                sum[r][p] = dotPairs(sum[r][p], pair[p], Ints{} + words[(x * 4 + i) * Rows + r]);
        }
    }
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      Floats scale = source.scale(group, p);
      Floats offset = needsGroupSums() ? source.offset(group, p, scale) : Floats{};
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r) {
        float inputs = needsGroupSums() ? input.sums[(row + r) * pairedGroups() + group] : 0.0f;
        totals.add(r, p, [&](Floats total) __attribute__((always_inline)) {
          return closePairs(total, sum[r][p], scale, &offset, inputs);
        });
      }
    }
  }
  totals.end();
}

/// Sums of `rows` rows by `Panels` panels, [rows][sumColumns()]; `memory` is for ExpandedPairs.
template <int Panels>
inline void pairGroupsPanels(const Weights &weights, int64_t panel, const PackedPairs &input,
                             int64_t rows, float *sums, char *memory) {
  if (readsStored(rows)) {
    const StoredPairs<Panels> source(weights, panel);
    return forPairTiles(rows, [&]<int Rows>(int64_t row) {
      if constexpr (Rows * Panels <= pairSums)
        pairGroupsTile<Rows>(source, input, {0, pairedGroups()}, row, sums);
    });
  }
  if constexpr (Panels <= tilePanels)
    for (int64_t first = 0; first < pairedGroups(); first += pairedBlock()) {
      const GroupRange range = pairedRange(first);
      const ExpandedPairs<Panels> source(memory, weights, panel, range);
      forPairTiles(rows, [&]<int Rows>(int64_t row) {
        pairGroupsTile<Rows>(source, input, range, row, sums);
      });
    }
}

/// Sums of a single row by a panel, [16]; `memory` is for RowPairs.
inline void pairGroupsRow(const Weights &weights, int64_t panel, const PackedPairs &input,
                          float *sums, void *memory) {
  RowPairs source(weights, panel, memory);
  for (int64_t first = 0; first < pairedGroups(); first += copiedGroups) {
    source.take(pairedRange(first, copiedGroups));
    pairGroupsTile<1>(source, input, source.range, 0, sums);
  }
}

struct PairGroups {
  using Scratch = PairGroupsScratch;

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    PackedPairs::take(arguments.input, block.rows, scratch.at(scratch.words),
                      scratch.at(scratch.inputSums));
  }

  static void sumRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    for (int64_t p = 0; p < block.panels; ++p)
      pairGroupsRow(arguments.weights, block.weightPanel() + p, packed(scratch),
                    scratch.at(scratch.sums) + p * panelRows, scratch.at(scratch.numbers));
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const int64_t rows = block.rows.count;
    auto take = [&]<int Panels>(int64_t p) __attribute__((always_inline)) {
      pairGroupsPanels<Panels>(arguments.weights, block.weightPanel() + p, packed(scratch), rows,
                               scratch.at(scratch.sums) + p * panelRows,
                               scratch.at(scratch.panels));
    };
    int64_t p = 0;
    if (rows <= pairSums / floatRowPanels) // more sums, to hide the time that one takes
      for (; p + floatRowPanels <= block.panels; p += floatRowPanels)
        take.template operator()<floatRowPanels>(p);
    forPanels<tilePanels>(block.panels, take, p);
  }

private:
  static PackedPairs packed(const Scratch &scratch) {
    return {scratch.at(scratch.words), scratch.at(scratch.inputSums)};
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::PairGroups>(launch);
}
