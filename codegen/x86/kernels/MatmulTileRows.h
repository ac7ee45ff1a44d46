// SPDX-License-Identifier: Apache-2.0
// Products whose sums need no scaling on the way through k, on AMX: bf16 by bf16, and bytes with
// one scale a row. Sums are made two tiles of rows by two panels at a time.
#pragma once

#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/TileInput.h"

namespace ingot::x86 {

/// What is asked for from memory while a block is multiplied, a share in each step of k.
struct NextPanels {
  const char *at[2];
  int64_t step; ///< bytes of each panel
  int64_t left; ///< bytes of each panel until `jump` bytes are left out
  int64_t jump;

  [[gnu::always_inline]] void ask() {
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

/// Bytes of a panel for a byte of a row.
constexpr int64_t panelShare = panelRows;

struct TileRowsBlock {
  AmxTiles &tiles;
  const TileInput &input;
  float *sums; ///< [row][sumColumns()], of bytes i32

  /// Adds bytes [first, end) of the rows of `RowTiles` tiles times those of `Panels` panels to the
  /// sums.
  template <int RowTiles, int Panels>
  [[gnu::always_inline]] void multiply(int64_t row, const char *const *panels, int64_t panel,
                                       int64_t first, int64_t end, NextPanels next) const {
    float *to = sums + row * sumColumns() + panel * panelRows;
    if (first) {
      move<0, RowTiles, Panels>(to, [&]<int Sum>(float *at) { tiles.load<Sum>(at, stride()); });
    } else {
      move<0, RowTiles, Panels>(to, [&]<int Sum>(float *) { tiles.zero<Sum>(); });
    }
    TileInput::Tile upper = input.tile(row), lower = input.tile(row + amxRows);
#pragma clang loop unroll(disable)
    for (int64_t k = first; k < end; k += amxRowBytes) {
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
      next.ask();
    }
    move<0, RowTiles, Panels>(to, [&]<int Sum>(float *at) { tiles.store<Sum>(at, stride()); });
  }

private:
  int64_t stride() const { return sumColumns() * 4; }

  /// Calls use<Sum>(place) for the sums of the block.
  template <int Sum, int RowTiles, int Panels, class Use>
  [[gnu::always_inline]] void move(float *to, Use use) const {
    if constexpr (Sum < 4) {
      if (Sum / 2 < RowTiles && Sum % 2 < Panels)
        use.template operator()<Sum>(to + Sum / 2 * amxRows * sumColumns() + Sum % 2 * panelRows);
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
      float *at = sums + row * sumColumns() + p * panelRows;
      storeVector(at,
                  closeGroup(Floats{}, toFloats(loadVector<Ints>(at)), scale, Floats{}, Floats{}));
    }
  }
}

/// sums [rows][sumColumns()] of a block of rows.
inline void tileRowsBlock(const Weights &weights, int64_t panel, int64_t panels,
                          const TileInput &input, int64_t rows, float *sums) {
  constexpr int64_t rowStep = 2 * amxRows;
  AmxTiles tiles(rows < amxRows ? rows : amxRows, amxRowBytes);
  TileRowsBlock block = {tiles, input, sums};
  const int64_t bytes = inputRowBytes();
  // Few rows need no second look at what they are multiplied by, and ask for it a little ahead.
  constexpr int64_t ahead = 3 * amxRows * amxRowBytes;
  const int64_t panelBytes = Weights::panelBytes();
  const int64_t width = rows <= rowStep ? bytes : tileBlockBytes;
  const int64_t rowBlocks = (rows + rowStep - 1) / rowStep;
  const int64_t steps = rowBlocks * (width / amxRowBytes);
  const int64_t ask = roundUp(width * panelShare / steps, 64);
  for (int64_t first = 0; first < bytes; first += width) {
    int64_t end = first + width < bytes ? first + width : bytes;
    for (int64_t p = 0; p < panels; p += 2) {
      const char *of[2], *next[2];
      for (int i = 0; i < 2; ++i) {
        int64_t own = p + i < panels ? p + i : p;
        of[i] = weights.panel(panel + own);
        // The panels behind, and after the last ones the first, further on in k.
        int64_t behind = p + 2 + i;
        next[i] = behind < panels || end == bytes
                      ? weights.panel(panel + (behind < panels ? behind : own)) + first * panelShare
                      : weights.panel(panel + (i < panels ? i : 0)) + end * panelShare;
      }
      for (int64_t row = 0; row < rows; row += rowStep) {
        NextPanels asked = {{of[0] + ahead, of[1] + ahead}, ask, panelBytes - ahead, panelBytes};
        if (rowBlocks > 1) {
          int64_t done = row / rowStep * (width / amxRowBytes) * ask;
          asked = {{next[0] + done, next[1] + done}, ask, 0, 0};
        }
        bool two = rows - row > amxRows;
        if (p + 1 < panels && two)
          block.multiply<2, 2>(row, of, p, first, end, asked);
        else if (p + 1 < panels)
          block.multiply<1, 2>(row, of, p, first, end, asked);
        else if (two)
          block.multiply<2, 1>(row, of, p, first, end, asked);
        else
          block.multiply<1, 1>(row, of, p, first, end, asked);
      }
    }
  }
  if (ingot_const_input_type == kI8)
    scaleRows(weights, panel, panels, rows, sums);
}

} // namespace ingot::x86
