// SPDX-License-Identifier: Apache-2.0
// Products of bytes on AMX, exact within a group, which is scaled outside of the tiles.
#include "codegen/x86/kernels/BytePanels.h"
#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/InputSums.h"
#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/TileOfSums.h"

namespace ingot::x86 {
namespace {

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
      sumGroupsOfRows(input, rows, sums);
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

/// Products of bytes with a panel, exact within a group.
template <class Panel> struct GroupProducts {
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

/// Adds the groups of `range` of all rows by a panel to sums [rows][tileSumColumns()].
template <class Panel>
inline void addPanel(AmxTiles &tiles, const Panel &panel, const TiledInput &input, GroupRange range,
                     const BytesAhead &ahead, int32_t *exact, float *sums) {
  const int64_t rows = input.rows, rowTiles = (rows + amxRows - 1) / amxRows;
  const int64_t share = roundUp((ahead.end - ahead.next) / rowTiles, 64);
  for (int64_t tile = 0; tile < rowTiles; ++tile) {
    const int64_t row = tile * amxRows;
    auto add = [&]<int Rows>() {
      const int64_t place = row * groupCount() + range.first;
      TileOfSums<GroupProducts<Panel>, Rows> block = {
          tiles,
          {panel, input.sums + place, input.scales + place},
          input.tile(tile, range.first * groupWidth()),
          exact};
      block.add(range.count(), {ahead.next + tile * share, ahead.next + (tile + 1) * share},
                sums + row * tileSumColumns(), range.first == 0);
    };
    if (rows - row > amxRows / 2)
      add.template operator()<amxRows>();
    else
      add.template operator()<amxRows / 2>();
  }
}

struct TileGroups {
  using Scratch = TileGroupsScratch;

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    TiledInput::take(arguments.input, arguments.inputScales, block.rows, scratch.at(scratch.tiles),
                     scratch.at(scratch.inputSums), scratch.at(scratch.inputScales));
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const Weights &weights = arguments.weights;
    const int64_t rows = block.rows.count, panel = block.weightPanel(), width = groupWidth();
    const TiledInput input = {rows, scratch.at(scratch.tiles), scratch.at(scratch.inputSums),
                              scratch.at(scratch.inputScales)};
    float *sums = scratch.at(scratch.sums);
    AmxTiles tiles(rows < amxRows ? rows : amxRows, tileColumns());
    const int64_t blockGroups = wholeGroups(tileBlockColumns, width) / width;
    for (GroupRange range = GroupRange::leading(blockGroups); range.count() > 0;
         range = range.next(blockGroups)) {
      for (int64_t p = 0; p < block.panels; ++p) {
        // The same columns of the next panel.
        const char *next = weights.panel(panel + p + 1) + Weights::panelOffset(range.first * width);
        const BytesAhead ahead = {next, next + Weights::panelOffset(range.count() * width)};
        for (int64_t group = range.first; group < range.end; ++group)
          weights.prefetchScale(panel + p + 1, group);
        auto add = [&](const auto &source) {
          addPanel(tiles, source, input, range, ahead, scratch.at(scratch.tileSums),
                   sums + p * panelRows);
        };
        // Signed bytes are read where they are.
        if (!hasFields() && ingot_const_zeros == kNoZeros)
          add(StoredPanels<TileForm, 1>{weights, panel + p, range.first});
        else
          add(ExpandedPanels<TileForm, 1>(scratch.at(scratch.panel), weights, panel + p, range));
      }
    }
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::TileGroups>(launch);
}
