// SPDX-License-Identifier: Apache-2.0
// Products of attention of bf16 by bf16, two columns at a time, wherever rows come from: in
// registers or on AMX. What both read is laid out as tiles.
#pragma once

#include "codegen/x86/kernels/AttentionSegments.h"
#include "codegen/x86/kernels/AttentionTiles.h"

namespace ingot::x86 {

/// result [rows][stride] = the sum of `terms` over `depth` tiles, for `Rows` rows by `Panels`
/// panels.
template <int Rows, int Panels, int Terms>
[[gnu::always_inline]] inline void multiplyWords(const PairTerm (&terms)[Terms], int64_t row,
                                                 int64_t panel, int64_t depth, float *result,
                                                 int64_t stride) {
  Floats sum[Rows][Panels] = {};
#pragma clang loop unroll(full)
  for (const PairTerm &term : terms) {
    const char *left = term.rows + row * term.rowStride;
    const char *right = term.panels + panel * term.panelStride;
    for (int64_t k = 0; k < depth; ++k, left += term.rowStep, right += tileBytes)
#pragma clang loop unroll(disable)
      for (int64_t word = 0; word < tileDepth / 2; ++word) {
        Ints column[Panels];
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          column[p] = loadVector<Ints>(right + p * term.panelStride + word * amxRowBytes);
#pragma clang loop unroll(full)
        for (int r = 0; r < Rows; ++r) {
          Ints x = splatWord(left + r * term.rowStride + word * 4);
#pragma clang loop unroll(full)
          for (int p = 0; p < Panels; ++p)
            sum[r][p] = dotPairs(sum[r][p], column[p], x);
        }
      }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      storeVector(result + (row + r) * stride + (panel + p) * lanes, sum[r][p]);
}

/// The same for all rows, `most` at most, and panels, however the target does it. Registers take
/// panels by twos; of an odd number the one behind, whose result nobody reads, is multiplied too.
template <int Terms>
inline void multiplyPairs(int64_t rows, int64_t most, const PairTerm (&terms)[Terms], int64_t depth,
                          int64_t panels, float *result, int64_t stride) {
  if (ingot_const_method == TileAttention)
    return multiplyTiles(rows, terms, depth, panels, result, stride);
  constexpr int fewRows = 4, manyPanels = 4; // enough sums to hide the time that one takes
  auto take = [&]<int Panels>(int64_t panel, int64_t atMost) {
    forRowTiles(
        rows,
        [&]<int Rows>(int64_t row) {
          if constexpr (Rows <= fewRows || Panels <= tilePanels)
            multiplyWords<Rows, Panels>(terms, row, panel, depth, result, stride);
        },
        atMost);
  };
  int64_t panel = 0;
  if (rows <= fewRows)
    for (; panel + manyPanels <= panels; panel += manyPanels)
      take.template operator()<manyPanels>(panel, fewRows);
  for (; panel < panels; panel += tilePanels)
    take.template operator()<tilePanels>(panel, most);
}

/// Keys of `count` positions as tiles, [segment / 16][columns / 32], zeros behind them and behind
/// their columns, an even number: place(i) says where the i-th is, load(place, d) gives its columns
/// from `d` on, by twos.
template <class Place, class Load>
[[gnu::always_inline]] inline void tileKeys(int64_t count, int64_t columns, Place place, Load load,
                                            char *keys) {
  const int64_t panelBytes = (columns + tileDepth - 1) / tileDepth * tileBytes;
  transposeKeys(count, columns, tileDepth, place, load,
                [&](int64_t first, int64_t d, int i, Floats words) __attribute__((always_inline)) {
                  char *tile = keys + first / lanes * panelBytes + d / tileDepth * tileBytes;
                  storeVector(tile + i * amxRowBytes, d + 2 * i < columns ? words : Floats{});
                });
}

/// Values of `count` positions as tiles, [columns / 16][segment / 32], zeros behind the positions,
/// up to whole tiles: load(place(i), d) gives those of the i-th from column `d` on.
template <class Place, class Load>
[[gnu::always_inline]] inline void tileValues(int64_t count, int64_t columns, Place place,
                                              Load load, char *values) {
  const int64_t panelBytes = attentionSegment / tileDepth * tileBytes;
  const int64_t end = (count + tileDepth - 1) / tileDepth * tileDepth;
  for (int64_t i = 0; i < end; i += 2) {
    // The words of a pair of positions are those of a column.
    int64_t last = count - 1;
    auto even = place(i < last ? i : last), odd = place(i + 1 < last ? i + 1 : last);
    for (int64_t d = 0; d < columns; d += lanes) {
      Shorts left = load(even, d), right = load(odd, d);
      left = i < count ? left : Shorts{};
      right = i + 1 < count ? right : Shorts{};
      storeVector(values + d / lanes * panelBytes + i / 2 * amxRowBytes,
                  __builtin_convertvector(left, UInts) | __builtin_convertvector(right, UInts)
                                                             << 16);
    }
  }
}

} // namespace ingot::x86
