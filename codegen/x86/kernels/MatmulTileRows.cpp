// SPDX-License-Identifier: Apache-2.0
// Products whose sums need no scaling on the way through k, on AMX: bf16 by bf16, and bytes with
// one scale a row. Sums are made two tiles of rows by two panels at a time.
#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/RowTiles.h"

namespace ingot::x86 {
namespace {

/// Rows are read where they are, or from a copy: many rows, since rows a power of two apart share a
/// few sets of the cache; rows that do not follow each other; those of a tile that is not full.
struct TileInput {
  const char *rows; ///< of the block where they follow each other, [row][k]
  const char *copy; ///< tiles from copyFrom on
  int64_t copyFrom; ///< a multiple of amxRows, or all rows where they are fewer

  /// A tile of rows: of the first columns, and from one row, and one tile of columns, to the next.
  struct Tile {
    const char *first;
    int64_t stride, step;

    [[gnu::always_inline]] const char *at(int64_t k) const {
      return first + k / amxRowBytes * step;
    }
  };
  [[gnu::always_inline]] Tile tile(int64_t row) const {
    if (row < copyFrom)
      return {rows + row * inputRowBytes(), inputRowBytes(), amxRowBytes};
    return {copy + (row - copyFrom) * roundUp(inputRowBytes(), amxRowBytes), amxRowBytes,
            tileBytes};
  }

  /// The first row that is copied.
  static int64_t firstCopied(const Rows &rows) {
    if (TileRowsScratch::copiesAll(ingot_const_tile_rows, isGathered()))
      return 0;
    // Fewer rows than a tile has make a tile of so many.
    return rows.count < amxRows ? rows.count : rows.count / amxRows * amxRows;
  }

  /// Fills `copy`.
  static void take(const void *input, const Rows &rows, char *copy) {
    copyTiles(static_cast<const char *>(input), rows, firstCopied(rows), amxRowBytes, copy);
  }

  static TileInput of(const void *input, const Rows &rows, const char *copy) {
    return {static_cast<const char *>(input) + rows.first * inputRowBytes(), copy,
            firstCopied(rows)};
  }
};

/// What is prefetched while a block is multiplied, a share in each step of k.
struct NextPanels {
  const char *at[2];
  int64_t step; ///< bytes of each panel
  int64_t left; ///< bytes of each panel until `jump` bytes are left out
  int64_t jump;

  [[gnu::always_inline]] void prefetch() {
    for (int64_t i = 0; i < step; i += 64)
#pragma clang loop unroll(full)
      for (const char *panel : at)
        __builtin_prefetch(panel + i, 0, 2);
    left -= step;
    int64_t go = left ? step : step + jump;
    at[0] += go;
    at[1] += go;
  }
};

/// Whether many rows are too long for the second-level cache.
inline bool hasLongRows() {
  constexpr int64_t longBytes = 4096;
  return ingot_const_tile_rows > 2 * amxRows && inputRowBytes() > longBytes;
}

/// What a block of many rows stores, prefetched while it is multiplied, a share in each step of k:
/// these lines are far, and every row has a few.
class ResultAhead {
public:
  ResultAhead(const Arguments &arguments, const Block &block, int64_t steps)
      : bytes(block.panels * panelRows / columnShare() * size()),
        rows(isUsed() ? block.rows.count : 0),
        next(static_cast<char *>(arguments.result) +
             (block.rows.first * ingot_const_n + block.panel * panelRows / columnShare()) *
                 size()) {
    const int64_t lines = rows * ((bytes + 63) / 64);
    each = (lines + steps - 1) / steps;
  }

  [[gnu::always_inline]] void prefetch() {
    if (!isUsed())
      return;
    for (int64_t i = 0; i < each && rows > 0; ++i) {
      __builtin_prefetch(next + done, 1, 2);
      done += 64;
      if (done >= bytes) {
        done = 0;
        next += ingot_const_n * size();
        --rows;
      }
    }
  }

private:
  /// Products of long rows have time for what stores wait.
  static bool isUsed() {
    return ingot_const_tile_rows > 2 * amxRows && !ingot_const_experts && !hasLongRows();
  }
  static int64_t size() { return sizeOf(ingot_const_result_type); }
  /// Columns of sums for one of the result.
  static int64_t columnShare() { return ingot_const_pair_offset ? 2 : 1; }

  int64_t bytes; ///< of a row
  int64_t rows;  ///< that are left
  const char *next;
  int64_t done = 0; ///< bytes of the next row
  int64_t each;     ///< lines in a step
};

/// Bytes of each row that are multiplied by all panels before k goes on: so much of two panels
/// stays in the first-level cache for all rows.
constexpr int64_t tileBlockBytes = 512;

/// Bytes of a panel for a byte of a row.
constexpr int64_t panelShare = panelRows;

/// The columns of two tiles of rows that follow in k, of which each pair of panels prefetches a
/// share: long rows are far when they are met again.
struct NextColumns {
  const char *at[2] = {};
  int64_t step = 0; ///< bytes of each tile in a step of k

  NextColumns(const TileInput::Tile &upper, const TileInput::Tile &lower, int64_t panel,
              int64_t end) {
    if (!hasLongRows() || end + tileBlockBytes > inputRowBytes())
      return;
    constexpr int64_t steps = tileBlockBytes / amxRowBytes;
    const int64_t pairs = (ingot_const_tile_panels + 1) / 2;
    step = roundUp(tileBytes / pairs, 64);
    const int64_t share = panel / 2 * steps * step;
    at[0] = upper.at(end) + share;
    at[1] = lower.at(end) + share;
  }

  [[gnu::always_inline]] void prefetch() {
    if (!hasLongRows())
      return;
    for (int64_t i = 0; i < step; i += 64)
#pragma clang loop unroll(full)
      for (const char *tile : at)
        __builtin_prefetch(tile + i, 0, 2);
    at[0] += step;
    at[1] += step;
  }
};

struct TileRowsBlock {
  AmxTiles &tiles;
  const TileInput &input;
  float *sums; ///< [row][tileSumColumns()], of bytes i32
  ResultAhead &result;

  /// Adds bytes [first, end) of the rows of `RowTiles` tiles times those of `Panels` panels to the
  /// sums.
  template <int RowTiles, int Panels>
  [[gnu::always_inline]] void multiply(int64_t row, const char *const *panels, int64_t panel,
                                       int64_t first, int64_t end, NextPanels next) const {
    float *to = sums + row * tileSumColumns() + panel * panelRows;
    if (first) {
      move<0, RowTiles, Panels>(to, [&]<int Sum>(float *at) { tiles.load<Sum>(at, stride()); });
    } else {
      move<0, RowTiles, Panels>(to, [&]<int Sum>(float *) { tiles.zero<Sum>(); });
    }
    TileInput::Tile upper = input.tile(row), lower = input.tile(row + amxRows);
    NextColumns columns(upper, lower, panel, end);
    // Elsewhere in a cache line the loop takes up to 12 % longer.
#pragma clang loop unroll(disable)
    [[clang::code_align(64)]] for (int64_t k = first; k < end; k += amxRowBytes) {
      tiles.load<4>(upper.at(k), upper.stride);
      tiles.load<6>(panels[0] + k * panelShare, amxRowBytes);
      product<0, 4, 6>();
      if (Panels == 2) {
        tiles.load<7>(panels[1] + k * panelShare, amxRowBytes);
        product<1, 4, 7>();
      }
      if (RowTiles == 2) {
        tiles.load<5>(lower.at(k), lower.stride);
        product<2, 5, 6>();
        if (Panels == 2)
          product<3, 5, 7>();
      }
      next.prefetch();
      columns.prefetch();
      result.prefetch();
    }
    move<0, RowTiles, Panels>(to, [&]<int Sum>(float *at) { tiles.store<Sum>(at, stride()); });
  }

private:
  int64_t stride() const { return tileSumColumns() * 4; }

  /// Calls use<Sum>(place) for the sums of the block.
  template <int Sum, int RowTiles, int Panels, class Use>
  [[gnu::always_inline]] void move(float *to, Use use) const {
    if constexpr (Sum < 4) {
      if (Sum / 2 < RowTiles && Sum % 2 < Panels)
        use.template operator()<Sum>(to + Sum / 2 * amxRows * tileSumColumns() +
                                     Sum % 2 * panelRows);
      move<Sum + 1, RowTiles, Panels>(to, use);
    }
  }

  template <int Sum, int Left, int Right> [[gnu::always_inline]] void product() const {
    if (ingot_const_input_type == kBf16)
      tiles.multiplyPairs<Sum, Left, Right>();
    else
      tiles.multiply<Sum, Left, Right>();
  }
};

/// Turns exact sums of bytes into scaled ones, in place.
inline void scaleRows(const Weights &weights, int64_t panel, int64_t panels, int64_t rows,
                      float *sums) {
  for (int64_t p = 0; p < panels; ++p) {
    Floats scale = weights.scale(panel + p, 0);
    for (int64_t row = 0; row < rows; ++row) {
      float *at = sums + row * tileSumColumns() + p * panelRows;
      storeVector(at,
                  closeGroup(Floats{}, toFloats(loadVector<Ints>(at)), scale, Floats{}, Floats{}));
    }
  }
}

struct TileRows {
  using Scratch = TileRowsScratch;

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    TileInput::take(arguments.input, block.rows, scratch.at(scratch.tiles));
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const int64_t rows = block.rows.count, tileRows = rows < amxRows ? rows : amxRows;
    const TileInput input = TileInput::of(arguments.input, block.rows, scratch.at(scratch.tiles));
    float *sums = scratch.at(scratch.sums);
    const int64_t bytes = inputRowBytes(), whole = bytes / amxRowBytes * amxRowBytes;
    const int64_t blocks = (rows + rowStep - 1) / rowStep * ((block.panels + 1) / 2);
    ResultAhead result(arguments, block, blocks * (whole / amxRowBytes));
    {
      AmxTiles tiles(tileRows, amxRowBytes);
      sumBytes({tiles, input, sums, result}, arguments.weights, block, 0, whole);
    }
    if (whole < bytes) {
      AmxTiles tiles(tileRows, bytes - whole);
      sumBytes({tiles, input, sums, result}, arguments.weights, block, whole, bytes);
    }
    if (ingot_const_input_type == kI8)
      scaleRows(arguments.weights, block.weightPanel(), block.panels, rows, sums);
  }

private:
  static constexpr int64_t rowStep = 2 * amxRows;

  /// Adds bytes [from, to) of the rows, of which each step of k takes as many as a tile has.
  [[gnu::always_inline]] static void sumBytes(TileRowsBlock products, const Weights &weights,
                                              const Block &block, int64_t from, int64_t to) {
    const int64_t panel = block.weightPanel(), panels = block.panels, rows = block.rows.count;
    const int64_t bytes = inputRowBytes();
    // Few rows need no second look at what they are multiplied by, and prefetch it a little ahead.
    constexpr int64_t ahead = 3 * amxRows * amxRowBytes;
    const int64_t panelBytes = Weights::panelBytes();
    const int64_t width = rows <= rowStep ? to - from : tileBlockBytes;
    const int64_t rowBlocks = (rows + rowStep - 1) / rowStep;
    const int64_t steps = (width + amxRowBytes - 1) / amxRowBytes;
    const int64_t prefetch = roundUp(width * panelShare / (rowBlocks * steps), 64);
    for (int64_t first = from; first < to; first += width) {
      int64_t end = first + width < to ? first + width : to;
      for (int64_t p = 0; p < panels; p += 2) {
        const char *of[2], *next[2];
        for (int i = 0; i < 2; ++i) {
          int64_t own = p + i < panels ? p + i : p;
          of[i] = weights.panel(panel + own);
          // The panels behind, and after the last ones the first, further on in k.
          int64_t behind = p + 2 + i;
          next[i] =
              behind < panels || end == bytes
                  ? weights.panel(panel + (behind < panels ? behind : own)) + first * panelShare
                  : weights.panel(panel + (i < panels ? i : 0)) + end * panelShare;
        }
        for (int64_t row = 0; row < rows; row += rowStep) {
          NextPanels prefetched = {
              {of[0] + ahead, of[1] + ahead}, prefetch, panelBytes - ahead, panelBytes};
          if (rowBlocks > 1) {
            int64_t done = row / rowStep * steps * prefetch;
            prefetched = {{next[0] + done, next[1] + done}, prefetch, 0, 0};
          }
          bool two = rows - row > amxRows;
          if (p + 1 < panels && two)
            products.multiply<2, 2>(row, of, p, first, end, prefetched);
          else if (p + 1 < panels)
            products.multiply<1, 2>(row, of, p, first, end, prefetched);
          else if (two)
            products.multiply<2, 1>(row, of, p, first, end, prefetched);
          else
            products.multiply<1, 1>(row, of, p, first, end, prefetched);
        }
      }
    }
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::TileRows>(launch);
}
