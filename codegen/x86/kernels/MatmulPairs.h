// SPDX-License-Identifier: Apache-2.0
// Sums of bf16 products, two columns of k at a time.
#pragma once

#include "codegen/x86/kernels/PackedInput.h"

namespace ingot::x86 {

/// sums [rows][sumColumns()] of `Rows` rows by `Panels` panels. `words`: of the rows, [word][Rows].
template <int Rows, int Panels>
[[gnu::always_inline]] inline void pairTile(const char *const (&panels)[Panels],
                                            const int32_t *words, float *sums) {
  constexpr int64_t panelWords = panelRows * 4;
  int64_t end = (ingot_const_k + 1) / 2;
  for (int64_t first = 0; first < end; first += segmentColumns / 2) {
    int64_t stop = end - first < segmentColumns / 2 ? end : first + segmentColumns / 2;
    Floats sum[Rows][Panels] = {};
#pragma clang loop unroll(disable)
    for (int64_t i = first; i < stop; ++i) {
      Ints weight[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        weight[p] = loadVector<Ints>(panels[p] + i * panelWords);
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = dotPairs(sum[r][p], weight[p], Ints{} + words[i * Rows + r]);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p) {
        float *to = sums + r * sumColumns() + p * panelRows;
        storeVector(to, first ? loadVector<Floats>(to) + sum[r][p] : sum[r][p]);
      }
  }
}

/// sums [rows][sumColumns()] of a block of rows. `input` of a single row has its words as they are.
inline void pairBlock(const Weights &weights, int64_t panel, int64_t panels,
                      const PackedInput &input, int64_t rows, float *sums) {
  auto take = [&]<int Panels>(int64_t p) {
    const char *values[Panels];
#pragma clang loop unroll(full)
    for (int i = 0; i < Panels; ++i)
      values[i] = weights.panel(panel + p + i);
    float *to = sums + p * panelRows;
    if (ingot_const_tile_rows == 1)
      return pairTile<1, Panels>(values, input.words, to);
    if constexpr (Panels <= tilePanels)
      forRowTiles(rows, [&]<int Count>(int64_t row) {
        pairTile<Count, Panels>(values, input.row(row), to + row * sumColumns());
      });
  };
  int64_t p = 0;
  if (ingot_const_tile_rows == 1)
    for (; p + floatRowPanels <= panels; p += floatRowPanels)
      take.template operator()<floatRowPanels>(p);
  else
    for (; p + tilePanels <= panels; p += tilePanels)
      take.template operator()<tilePanels>(p);
  for (; p < panels; ++p)
    take.template operator()<1>(p);
}

} // namespace ingot::x86
