// SPDX-License-Identifier: Apache-2.0
// Products of bf16 in tiles of AMX, for llm.attention.
#pragma once

#include "codegen/x86/kernels/AmxTiles.h"
#include "codegen/x86/kernels/Vector.h"

namespace ingot::x86 {

/// Columns that a tile takes at once, and bytes of a tile of the right side.
constexpr int64_t tileDepth = amxRowBytes / 2;

/// A product: rows of bf16 by panels of tiles [columns / 32][16][16][2]. Rows are rowStride bytes
/// apart, their tiles of columns rowStep.
struct PairTerm {
  const char *rows;
  int64_t rowStride, rowStep;
  const char *panels;
  int64_t panelStride;
};

/// result [rows][stride] = the sum of `terms` over `depth` tiles, for two tiles of rows by two
/// panels, or one by up to four: each sum waits for its last product, so that few make slow work.
template <int RowTiles, int Panels, int Terms>
[[gnu::always_inline]] inline void multiplyTerms(AmxTiles &tiles, const PairTerm (&terms)[Terms],
                                                 int64_t row, int64_t panel, int64_t depth,
                                                 float *result, int64_t stride) {
  static_assert(RowTiles * Panels <= 4);
  tiles.zero<0>();
  tiles.zero<1>();
  tiles.zero<2>();
  tiles.zero<3>();
#pragma clang loop unroll(disable)
  for (int64_t k = 0; k < depth; ++k)
#pragma clang loop unroll(full)
    for (const PairTerm &term : terms) {
      const char *left = term.rows + row * term.rowStride + k * term.rowStep;
      const char *right = term.panels + panel * term.panelStride + k * tileBytes;
      tiles.load<4>(left, term.rowStride);
      tiles.load<6>(right, amxRowBytes);
      tiles.multiplyPairs<0, 4, 6>();
      if constexpr (Panels > 1) {
        tiles.load<7>(right + term.panelStride, amxRowBytes);
        tiles.multiplyPairs<1, 4, 7>();
      }
      if constexpr (RowTiles == 2) {
        tiles.load<5>(left + amxRows * term.rowStride, term.rowStride);
        tiles.multiplyPairs<2, 5, 6>();
        if constexpr (Panels > 1)
          tiles.multiplyPairs<3, 5, 7>();
      } else if constexpr (Panels == 4) {
        tiles.load<6>(right + 2 * term.panelStride, amxRowBytes);
        tiles.multiplyPairs<2, 4, 6>();
        tiles.load<7>(right + 3 * term.panelStride, amxRowBytes);
        tiles.multiplyPairs<3, 4, 7>();
      }
    }
  float *to = result + row * stride + panel * lanes;
  float *second = RowTiles == 2 ? to + amxRows * stride : to + 2 * lanes;
  tiles.store<0>(to, stride * 4);
  if constexpr (Panels > 1)
    tiles.store<1>(to + lanes, stride * 4);
  if constexpr (RowTiles == 2 || Panels == 4)
    tiles.store<2>(second, stride * 4);
  if constexpr (RowTiles * Panels == 4)
    tiles.store<3>(second + lanes, stride * 4);
}

/// The same for all rows and panels.
template <int Terms>
inline void multiplyTiles(AmxTiles &tiles, int64_t rows, const PairTerm (&terms)[Terms],
                          int64_t depth, int64_t panels, float *result, int64_t stride) {
  for (int64_t row = 0; row < rows; row += 2 * amxRows) {
    bool two = rows - row > amxRows;
    int64_t panel = 0;
    for (; !two && panel + 4 <= panels; panel += 4)
      multiplyTerms<1, 4>(tiles, terms, row, panel, depth, result, stride);
    for (; panel + 2 <= panels; panel += 2)
      if (two)
        multiplyTerms<2, 2>(tiles, terms, row, panel, depth, result, stride);
      else
        multiplyTerms<1, 2>(tiles, terms, row, panel, depth, result, stride);
    if (panel < panels) {
      if (two)
        multiplyTerms<2, 1>(tiles, terms, row, panel, depth, result, stride);
      else
        multiplyTerms<1, 1>(tiles, terms, row, panel, depth, result, stride);
    }
  }
}

/// The same with tiles of its own.
template <int Terms>
inline void multiplyTiles(int64_t rows, const PairTerm (&terms)[Terms], int64_t depth,
                          int64_t panels, float *result, int64_t stride) {
  AmxTiles tiles(rows < amxRows ? rows : amxRows, amxRowBytes);
  multiplyTiles(tiles, rows, terms, depth, panels, result, stride);
}

} // namespace ingot::x86
