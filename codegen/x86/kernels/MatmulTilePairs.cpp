// SPDX-License-Identifier: Apache-2.0
// Products of floats with encoded weights on AMX: tiles sum a group, whose sums are scaled outside.
#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/PairedWeights.h"
#include "codegen/x86/kernels/TileOfSums.h"

namespace ingot::x86 {
namespace {

/// Columns of a tile, and its bytes.
inline int64_t pairTileColumns() {
  return pairedWidth() < amxRowBytes / 2 ? pairedWidth() : amxRowBytes / 2;
}
inline int64_t pairTileBytes() { return amxRows * pairTileColumns() * 2; }

/// The input of products by tiles of pairs.
struct PairedInput {
  int64_t rows;
  const char *tiles; ///< [tile of rows][tile of columns][part][16][pairTileColumns()]
  const float *sums; ///< over groups [row][groups], where products need them

  /// Fills `tiles` and `sums`.
  static void take(const void *input, const Rows &rows, char *tiles, float *sums) {
    for (int64_t row = 0; row < rows.count; ++row) {
      const int64_t width = pairTileColumns();
      char *line = tiles + row / amxRows * rowTileBytes() + row % amxRows * width * 2;
      splitRow(input, rows, row, sums + row * pairedGroups(),
               [&](int64_t k, int64_t part, Shorts pairs) {
                 storeVector(line + (k / width * pairInputParts() + part) * pairTileBytes() +
                                 k % width * 2,
                             pairs);
               });
    }
  }

  /// The first tile of `group` of the rows from `row` on.
  const char *tile(int64_t row, int64_t group) const {
    return tiles + row / amxRows * rowTileBytes() +
           group * (pairedWidth() / pairTileColumns()) * pairInputParts() * pairTileBytes();
  }

private:
  static int64_t rowTileBytes() { return amxRows * ingot_const_k * 2 * pairInputParts(); }
};

/// Products of pairs with a panel.
struct PairProducts {
  const PairedPanel &panel;
  const float *inputs; ///< sums of inputs, of the first row and group

  /// Tile `Sum` += the products of `group`; `left`: [tile of columns][part][16][pairTileColumns()].
  template <int Sum>
  [[gnu::always_inline]] void multiply(AmxTiles &tiles, const char *left, int64_t group) const {
    const int64_t width = pairedWidth(), step = pairInputParts() * pairTileBytes();
    const char *next = left + group * (width / pairTileColumns()) * step;
#pragma clang loop unroll(disable)
    for (int64_t k = group * width; k < (group + 1) * width; k += pairTileColumns(), next += step)
#pragma clang loop unroll(disable)
      for (int64_t part = 0; part < panel.parts; ++part) {
        tiles.load<6 + Sum % 2>(panel.values + part * panel.partWords + k / 2, sizeof(Ints));
        multiplyPart<Sum, 4 + Sum % 2>(tiles, next);
        if (pairInputParts() > 1)
          multiplyPart<Sum, 5 - Sum % 2>(tiles, next + pairTileBytes());
      }
  }

  /// `total` of a row with its sums of `group`.
  [[gnu::always_inline]] Floats close(Floats total, Ints sum, int64_t group, int64_t row) const {
    const float input = needsGroupSums() ? inputs[row * pairedGroups() + group] : 0.0f;
    return closePairs(total, (Floats)sum, panel.scales[group], panel.offsets + group, input);
  }

private:
  template <int Sum, int Left>
  [[gnu::always_inline]] static void multiplyPart(AmxTiles &tiles, const char *part) {
    tiles.load<Left>(part, pairTileColumns() * 2);
    tiles.multiplyPairs<Sum, Left, 6 + Sum % 2>();
  }
};

/// Which panels and groups are multiplied one after the other: of few rows all groups of some
/// panels, as memory has them; of many all panels first, so that the rows' columns stay in the
/// cache.
struct PairSteps {
  int64_t panels;

  struct Step {
    int64_t panel, panels;
    GroupRange range;
  };

  int64_t count() const { return times() * ranges(); }
  /// Step `index`; behind the last one is the next tile's first.
  Step at(int64_t index) const {
    if (index == count())
      return {panels, expandedPanels, rangeAt(0)};
    const bool few = ingot_const_tile_rows <= amxRows;
    const int64_t panel = (few ? index / ranges() : index % times()) * expandedPanels;
    const int64_t left = panels - panel;
    return {panel, left < expandedPanels ? left : expandedPanels,
            rangeAt(few ? index % ranges() : index / times())};
  }

private:
  int64_t times() const { return (panels + expandedPanels - 1) / expandedPanels; }
  static int64_t ranges() { return (pairedGroups() + pairedBlock() - 1) / pairedBlock(); }
  static GroupRange rangeAt(int64_t index) { return pairedRange(index * pairedBlock()); }
};

struct TilePairs {
  using Scratch = TilePairsScratch;

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    PairedInput::take(arguments.input, block.rows, scratch.at(scratch.tiles),
                      scratch.at(scratch.inputSums));
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const Weights &weights = arguments.weights;
    const PairedInput input = {block.rows.count, scratch.at(scratch.tiles),
                               scratch.at(scratch.inputSums)};
    AmxTiles tiles(input.rows < amxRows ? input.rows : amxRows, pairTileColumns() * 2);
    const PairSteps steps = {block.panels};
    for (int64_t i = 0; i < steps.count(); ++i) {
      PairSteps::Step next = steps.at(i + 1);
      for (int64_t group = next.range.first; group < next.range.end; ++group)
        for (int64_t p = 0; p < next.panels; ++p)
          weights.prefetchScale(block.weightPanel() + next.panel + p,
                                group * pairedWidth() / groupWidth());
      add(tiles, weights, block.weightPanel(), steps.at(i), next, input, scratch);
    }
  }

private:
  /// Adds the groups of `step` to the sums; the weights of `next` are prefetched meanwhile. The
  /// second panel finds a tile of rows in the first-level cache.
  static void add(AmxTiles &tiles, const Weights &weights, int64_t panel, PairSteps::Step step,
                  PairSteps::Step next, const PairedInput &input, const Scratch &scratch) {
    PairedPanel paired[expandedPanels];
    for (int64_t p = 0; p < step.panels; ++p)
      paired[p] = PairedPanel::expand<false>(scratch.at(scratch.panels) + p * PairedPanel::bytes(),
                                             weights, panel + step.panel + p, step.range);
    const int64_t rowTiles = (input.rows + amxRows - 1) / amxRows;
    const int64_t first = Weights::panelOffset(next.range.first * pairedWidth()),
                  bytes = Weights::panelOffset(next.range.end * pairedWidth()) - first,
                  share = roundUp((bytes + rowTiles - 1) / rowTiles, 64);
    for (int64_t tile = 0; tile < rowTiles; ++tile)
      for (int64_t p = 0; p < step.panels; ++p) {
        const int64_t row = tile * amxRows, left = input.rows - row;
        const char *from = weights.panel(panel + next.panel + p) + first + tile * share;
        float *sums =
            scratch.at(scratch.sums) + row * tileSumColumns() + (step.panel + p) * panelRows;
        auto add = [&]<int Rows>() {
          TileOfSums<PairProducts, Rows> block = {
              tiles,
              {paired[p], input.sums + row * pairedGroups() + step.range.first},
              input.tile(row, step.range.first),
              scratch.at(scratch.tileSums)};
          block.add(step.range.count(), {from, from + share}, sums, step.range.first == 0);
        };
        if (left > amxRows / 2)
          add.template operator()<amxRows>();
        else if (input.rows > 1)
          add.template operator()<amxRows / 2>();
        else
          add.template operator()<1>();
      }
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::TilePairs>(launch);
}
