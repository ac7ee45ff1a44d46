// SPDX-License-Identifier: Apache-2.0
// Integer sums of the matmul kernel on AMX: exact within a group, scaled outside of the tiles.
#pragma once

#include "codegen/x86/kernels/BytePanels.h"
#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/InputSums.h"
#include "codegen/x86/kernels/TileInput.h"

namespace ingot::x86 {

/// Columns of a group that one tile takes.
inline int64_t tileColumns() { return groupWidth() < amxRowBytes ? groupWidth() : amxRowBytes; }

/// The input of products by tiles.
struct TiledInput {
  int64_t rows;
  const char *tiles;   ///< [tile of rows][tile of columns][16][tileColumns()]
  const int32_t *sums; ///< over groups [row][groups], where products need them; f32 for offsets
  const float *scales; ///< of groups, likewise, where the input has them

  static bool needsSums() {
    return ingot_const_zeros == kOffsets || (ingot_const_zeros == kZeroPoints && !hasFields());
  }

  /// Fills `tiles`, `sums` and `scales`; `given`: the input's.
  static void take(const void *input, const float *given, const Rows &rows, char *tiles,
                   int32_t *sums, float *scales) {
    copyTiles(static_cast<const char *>(input), rows, 0, tileColumns(), tiles);
    if (needsSums())
      sumRows(input, rows, sums);
    if (ingot_const_zeros == kOffsets)
      for (int64_t i = 0; i < rows.count * groupCount(); ++i)
        sums[i] = bitCast<int32_t>(float(sums[i]));
    for (int64_t row = 0; hasInputGroups() && row < rows.count; ++row)
      for (int64_t group = 0; group < groupCount(); ++group)
        scales[row * groupCount() + group] = scaleOf(scalesOf(given, rows.input(row)), group);
  }

  /// The tiles of a row of them, from column `k` on.
  const char *tile(int64_t index, int64_t k) const {
    return tiles + index * amxRows * ingot_const_k + k * amxRows;
  }
};

/// What is asked for from memory while tiles are multiplied.
struct BytesAhead {
  const char *next, *end;

  /// Asks for `bytes` of what is left.
  [[gnu::always_inline]] void ask(int64_t bytes) {
    for (int64_t i = 0; i < bytes && next < end; i += 64, next += 64)
      __builtin_prefetch(next, 0, 2);
  }
};

/// Products of bytes with a panel, exact within a group.
template <class Panel> struct ByteProducts {
  const Panel &panel;
  const int32_t *inputs; ///< sums of inputs, of the first row and group
  const float *scales;   ///< of inputs, likewise

  /// Tile `Sum` += those of `group`; `left`: [tile of columns][16][tileColumns()].
  template <int Sum>
  [[gnu::always_inline]] void multiply(AmxTiles &tiles, const char *left, int64_t group) const {
    constexpr int Left = 4 + Sum % 2, Right = 6 + Sum % 2;
    const int64_t width = groupWidth();
#pragma clang loop unroll(disable)
    for (int64_t k = group * width; k < (group + 1) * width; k += tileColumns()) {
      tiles.load<Left>(left + k * amxRows, tileColumns());
      tiles.load<Right>(panel.words(k, 0), sizeof(Ints));
      tiles.multiply<Sum, Left, Right>();
    }
  }

  /// `total` of a row with its sums of `group`.
  [[gnu::always_inline]] Floats close(Floats total, Ints sum, int64_t group, int64_t row) const {
    const int64_t place = row * groupCount() + group;
    const int32_t input = TiledInput::needsSums() ? inputs[place] : 0;
    Floats offset = ingot_const_zeros == kOffsets ? panel.offset(group, 0) : Floats{};
    Floats exact = Panel::hasZeros() ? lessZeros(sum, panel.zero(group, 0), input) : toFloats(sum);
    return closeGroup(total, exact, panel.scale(group, 0), offset, splat(bitCast<float>(input)),
                      hasInputGroups() ? scales[place] : 1.0f);
  }
};

/// A tile of rows by a panel. The products of four groups are in the tiles: what was just made is
/// slow to store, and what was just stored slow to load, so a group's sums are stored when the
/// fourth behind is about to be made, and scaled one later. Totals stay in registers.
template <class Products, int Rows> struct TileOfSums {
  AmxTiles &tiles;
  Products products;
  const char *left; ///< the input's tiles from the first group on
  int32_t *memory;  ///< for sums of two tiles

  /// Adds `groups` groups to totals [Rows][sumColumns()], the first ones if `isFirst`.
  void add(int64_t groups, BytesAhead ahead, float *totals, bool isFirst) const {
    Floats total[Rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
      total[r] = isFirst ? Floats{} : loadVector<Floats>(totals + r * sumColumns());
    const int64_t each = roundUp((ahead.end - ahead.next) / groups, 64);
#pragma clang loop unroll(disable)
    for (int64_t group = 0; group < groups + scaleDistance; group += 4) {
      step<0>(group, groups, total);
      ahead.ask(each);
      step<1>(group, groups, total);
      ahead.ask(each);
      step<2>(group, groups, total);
      ahead.ask(each);
      step<3>(group, groups, total);
      ahead.ask(each);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
      storeVector(totals + r * sumColumns(), total[r]);
  }

private:
  /// Groups from a product to its store, and to its scaling.
  static constexpr int64_t storeDistance = 4, scaleDistance = 5;

  template <int I>
  [[gnu::always_inline]] void step(int64_t first, int64_t groups, Floats *total) const {
    const int64_t group = first + I, stored = group - storeDistance, scaled = group - scaleDistance;
    if (stored >= 0 && stored < groups)
      tiles.store<I>(memory + I % 2 * tileWords, amxRowBytes);
    if (group < groups) {
      tiles.zero<I>();
      products.template multiply<I>(tiles, left, group);
    }
    if (scaled >= 0 && scaled < groups)
      scale(scaled, memory + (I + 1) % 2 * tileWords, total);
  }

  /// Adds the sums of a group to the totals.
  [[gnu::always_inline]] void scale(int64_t group, const int32_t *sums, Floats *total) const {
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
      total[r] = products.close(total[r], loadVector<Ints>(sums + r * panelRows), group, r);
  }
};

/// Adds the groups of `range` of all rows by a panel to sums [rows][sumColumns()].
template <class Panel>
inline void addPanel(AmxTiles &tiles, const Panel &panel, const TiledInput &input, GroupRange range,
                     const BytesAhead &ahead, int32_t *exact, float *sums) {
  const int64_t rows = input.rows, rowTiles = (rows + amxRows - 1) / amxRows;
  const int64_t share = roundUp((ahead.end - ahead.next) / rowTiles, 64);
  for (int64_t tile = 0; tile < rowTiles; ++tile) {
    const int64_t row = tile * amxRows;
    auto add = [&]<int Rows>() {
      const int64_t place = row * groupCount() + range.first;
      TileOfSums<ByteProducts<Panel>, Rows> block = {
          tiles,
          {panel, input.sums + place, input.scales + place},
          input.tile(tile, range.first * groupWidth()),
          exact};
      block.add(range.count(), {ahead.next + tile * share, ahead.next + (tile + 1) * share},
                sums + row * sumColumns(), range.first == 0);
    };
    if (rows - row > amxRows / 2)
      add.template operator()<amxRows>();
    else
      add.template operator()<amxRows / 2>();
  }
}

/// sums [rows][sumColumns()] of a block of rows; `memory` is for two tiles and an ExpandedPanels.
inline void tileGroupsBlock(const Weights &weights, int64_t panel, int64_t panels,
                            const TiledInput &input, float *sums, char *memory) {
  const int64_t rows = input.rows, width = groupWidth();
  AmxTiles tiles(rows < amxRows ? rows : amxRows, tileColumns());
  auto *exact = reinterpret_cast<int32_t *>(memory);
  const int64_t blockGroups = blockColumns(TileGroups, width) / width;
  for (GroupRange range = GroupRange::leading(blockGroups); range.count() > 0;
       range = range.next(blockGroups)) {
    for (int64_t p = 0; p < panels; ++p) {
      // The same columns of the next panel.
      const char *next = weights.panel(panel + p + 1) + panelOffset(range.first * width);
      const BytesAhead ahead = {next, next + panelOffset(range.count() * width)};
      for (int64_t group = range.first; group < range.end; ++group)
        weights.askScale(panel + p + 1, group);
      auto add = [&](const auto &source) {
        addPanel(tiles, source, input, range, ahead, exact, sums + p * panelRows);
      };
      // Signed bytes are read where they are.
      if (!hasFields() && ingot_const_zeros == kNoZeros)
        add(StoredPanels<1>{weights, panel + p, range.first});
      else
        add(ExpandedPanels<1>(memory + tileSumBytes, weights, panel + p, range));
    }
  }
}

} // namespace ingot::x86
