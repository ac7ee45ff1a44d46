// SPDX-License-Identifier: Apache-2.0
// Integer sums of the matmul kernel on AMX, in blocks of two tiles of rows by two panels. The exact
// sums of two groups are scaled while those of the next two are made.
#pragma once

#include "codegen/x86/kernels/MatmulInteger.h"
#include "codegen/x86/kernels/TileInput.h"

namespace ingot::x86 {

/// Columns of a group that one tile takes.
inline int64_t tileColumns() {
  int64_t width = ingot_const_group ? ingot_const_group : ingot_const_k;
  return width < amxRowBytes ? width : amxRowBytes;
}

/// The input of integer products by tiles.
struct SummedTiles {
  TileInput rows;
  const int32_t *sums; ///< over groups [row][groups], where products need them

  static bool needsSums() {
    return ingot_const_zeros == kOffsets || (ingot_const_zeros == kZeroPoints && !hasFields());
  }

  static SummedTiles of(const void *input, const Rows &rows, char *copy, int32_t *sums) {
    if (needsSums())
      sumRows(input, rows, sums);
    return {TileInput::of(input, rows, copy), sums};
  }
};

/// Words of a tile's sums.
constexpr int64_t tileWords = amxRows * panelRows;
/// Sums of a block of two tiles of rows by two panels.
constexpr int64_t blockWords = 4 * tileWords;
static_assert(tileSumBytes == 5 * blockWords * 4);

/// What is asked for from memory while one block of tiles is multiplied: its share of the panels
/// that are expanded next.
struct BlockAhead {
  const char *first;
  int64_t step; ///< bytes for each two groups

  [[gnu::always_inline]] void ask(int64_t index) const {
    for (int64_t i = 0; i < step; i += 64)
      __builtin_prefetch(first + index * step + i, 0, 2);
  }
};

/// A block of tiles: `RowTiles` of rows by the panels of `weights`.
template <int RowTiles, class Panels> struct TileBlock {
  AmxTiles &tiles;
  const Panels &weights;
  TileInput::Tile left[RowTiles];
  const int32_t *inputs; ///< sums of its rows, [row][groups]
  BlockAhead next;
  int32_t *exact; ///< [2][2] blocks: of two groups, and of the two before
  float *totals;  ///< one block

  TileBlock(AmxTiles &tiles, const Panels &weights, const SummedTiles &input, int64_t row,
            const BlockAhead &next, char *memory)
      : tiles(tiles), weights(weights), inputs(input.sums + row * Weights::groups()), next(next),
        exact(reinterpret_cast<int32_t *>(memory)),
        totals(reinterpret_cast<float *>(exact + 4 * blockWords)) {
    for (int i = 0; i < RowTiles; ++i)
      left[i] = input.rows.tile(row + i * amxRows);
  }

  float *totalsOf(int rowTile, int panel) const {
    return totals + (2 * rowTile + panel) * tileWords;
  }

  void run() const {
    int64_t groups = Weights::groups(), whole = groups / 2 * 2;
    __builtin_memset(totals, 0, blockWords * 4);
#pragma clang loop unroll(disable)
    for (int64_t group = 0; group < whole; group += 2) {
      next.ask(group / 2);
      makeGroup<0>(group);
      makeGroup<1>(group);
    }
    if (whole)
      closeAll<2>(whole - 2);
    if (whole == groups)
      return;
    multiply<0>(whole);
    storeExact<0>(whole);
    if (RowTiles == 2) {
      multiply<RowTiles - 1>(whole);
      storeExact<RowTiles - 1>(whole);
    }
    closeAll<1>(whole);
  }

private:
  int32_t *exactOf(int64_t group) const { return exact + (group & 3) * blockWords; }

  /// The exact sums of one of the two groups from `pair` on. Sums that tiles have just made are
  /// stored later: what is done until then, scaling sums of the two groups before, overlaps.
  template <int Member> [[gnu::always_inline]] void makeGroup(int64_t pair) const {
    multiply<0>(pair + Member);
    if (pair)
      close<2>(pair - 2, RowTiles * Member);
    storeExact<0>(pair + Member);
    if (RowTiles == 1)
      return;
    multiply<RowTiles - 1>(pair + Member);
    if (pair)
      close<2>(pair - 2, RowTiles * Member + 1);
    storeExact<RowTiles - 1>(pair + Member);
  }

  /// The products of a tile of rows in tiles 0 and 1, or 2 and 3.
  template <int RowTile> [[gnu::always_inline]] void multiply(int64_t group) const {
    GroupColumns range = GroupColumns::of(group);
    bool isOne = range.end - range.first == tileColumns();
    tiles.zero<2 * RowTile>();
    if (Panels::count == 2)
      tiles.zero<2 * RowTile + 1>();
#pragma clang loop unroll(disable)
    for (int64_t k = range.first; k < range.end; k += tileColumns()) {
      tiles.load<4 + RowTile>(left[RowTile].first + k, left[RowTile].stride);
      // The second tile of rows finds the only one of the weights where it is.
      if (RowTile == 0 || !isOne)
        tiles.load<6>(weights.words(k, 0), weights.wordStride());
      tiles.multiply<2 * RowTile, 4 + RowTile, 6>();
      if (Panels::count == 2) {
        if (RowTile == 0 || !isOne)
          tiles.load<7>(weights.words(k, 1), weights.wordStride());
        tiles.multiply<2 * RowTile + 1, 4 + RowTile, 7>();
      }
    }
  }

  template <int RowTile> [[gnu::always_inline]] void storeExact(int64_t group) const {
    int32_t *to = exactOf(group) + 2 * RowTile * tileWords;
    tiles.store<2 * RowTile>(to, amxRowBytes);
    if (Panels::count == 2)
      tiles.store<2 * RowTile + 1>(to + tileWords, amxRowBytes);
  }

  template <int Count> [[gnu::always_inline]] void closeAll(int64_t group) const {
    for (int tile = 0; tile < RowTiles * Panels::count; ++tile)
      close<Count>(group, tile);
  }

  /// Adds the exact sums of `Count` groups from `group` on to the totals of one tile, scaled.
  template <int Count> [[gnu::always_inline]] void close(int64_t group, int tile) const {
    if (tile >= RowTiles * Panels::count)
      return;
    int rowTile = tile / Panels::count, panel = tile % Panels::count;
    Floats scale[Count], offset[Count];
    Ints zero[Count];
    constexpr auto hasZeros = [] { return ingot_const_zeros == kZeroPoints && !subtractsZeros(); };
#pragma clang loop unroll(full)
    for (int i = 0; i < Count; ++i) {
      scale[i] = weights.scale(group + i, panel);
      offset[i] = ingot_const_zeros == kOffsets ? weights.offset(group + i, panel) : Floats{};
      zero[i] = hasZeros() ? weights.zero(group + i, panel) : Ints{};
    }
    const int64_t place = (2 * rowTile + panel) * tileWords;
    const int32_t *sums = inputs + rowTile * amxRows * Weights::groups() + group;
    const int32_t *of[Count];
#pragma clang loop unroll(full)
    for (int i = 0; i < Count; ++i)
      of[i] = exactOf(group + i) + place;
    float *to = totals + place;
#pragma clang loop unroll(full)
    for (int r = 0; r < amxRows; ++r) {
      Floats total = loadVector<Floats>(to + r * panelRows);
#pragma clang loop unroll(full)
      for (int i = 0; i < Count; ++i) {
        int32_t own = SummedTiles::needsSums() ? sums[r * Weights::groups() + i] : 0;
        Ints sum = loadVector<Ints>(of[i] + r * panelRows);
        if (hasZeros())
          sum -= zero[i] * own;
        total = closeGroup(total, sum, scale[i], offset[i], own);
      }
      storeVector(to + r * panelRows, total);
    }
  }
};

/// Copies the first `rows` rows of [16][16] totals to rows `columns` apart.
inline void storeTile(const float *totals, int64_t rows, float *to, int64_t columns) {
  for (int64_t r = 0; r < rows && r < amxRows; ++r)
    storeVector(to + r * columns, loadVector<Floats>(totals + r * panelRows));
}

/// sums [rows][columns] of the rows of a block from `row` on by the panels of `weights`.
template <int RowTiles, class Panels>
inline void tiledRows(AmxTiles &tiles, const Panels &weights, const SummedTiles &input, int64_t row,
                      int64_t rows, const BlockAhead &next, float *sums, int64_t columns,
                      char *memory) {
  TileBlock<RowTiles, Panels> block(tiles, weights, input, row, next, memory);
  block.run();
  for (int tile = 0; tile < RowTiles; ++tile)
    for (int p = 0; p < Panels::count; ++p)
      storeTile(block.totalsOf(tile, p), rows - tile * amxRows,
                sums + (row + tile * amxRows) * columns + p * panelRows, columns);
}

/// sums [rows][panels * 16] of a block of rows; `memory` is for the tiles' sums and ExpandedPanels.
inline void tiledIntegerBlock(const Weights &weights, int64_t panel, int64_t panels,
                              const SummedTiles &input, int64_t rows, float *sums, char *memory) {
  int64_t columns = panels * panelRows;
  AmxTiles tiles(rows < amxRows ? rows : amxRows, tileColumns());
  const int64_t steps = Weights::groups() / 2;
  const int64_t asks = roundUp(rows, 2 * amxRows) / (2 * amxRows) * steps;
  const int64_t share = asks ? roundUp(2 * Weights::panelBytes() / asks, 64) : 0;
  auto take = [&]<int Panels>(int64_t p) {
    auto multiply = [&](const auto &source) {
      float *to = sums + p * panelRows;
      for (int64_t row = 0; row < rows; row += 2 * amxRows) {
        BlockAhead next = {weights.panel(panel + p + Panels) + row / (2 * amxRows) * steps * share,
                           share};
        if (rows - row > amxRows)
          tiledRows<2>(tiles, source, input, row, rows - row, next, to, columns, memory);
        else
          tiledRows<1>(tiles, source, input, row, rows - row, next, to, columns, memory);
      }
    };
    // Signed bytes are read where they are.
    if (!hasFields() && ingot_const_zeros == kNoZeros)
      multiply(StoredPanels<Panels>{weights, panel + p});
    else
      multiply(ExpandedPanels<Panels>(memory + tileSumBytes, weights, panel + p));
  };
  int64_t p = 0;
  for (; p + 2 <= panels; p += 2)
    take.template operator()<2>(p);
  if (p < panels)
    take.template operator()<1>(p);
}

} // namespace ingot::x86
