// SPDX-License-Identifier: Apache-2.0
// Sums of bf16 products, two columns of k at a time.
#pragma once

#include "codegen/x86/kernels/PackedInput.h"

namespace ingot::x86 {

/// sums [rows][sumColumns()] of `Rows` rows by `Panels` panels that follow each other from `panel`
/// on. `words`: of the rows, [word][Rows]. `isFirst`: no tile has read these panels before.
template <int Rows, int Panels>
[[gnu::always_inline]] inline void pairTile(const char *panel, const int32_t *words, bool isFirst,
                                            float *sums) {
  constexpr int64_t panelWords = panelRows * 4;
  // Hardware follows the panels of few rows on its own, faster than requests.
  const bool asks = isFirst && Rows > 4;
  const PanelsAhead<Panels> next = {panel, Weights::panelBytes()};
  int64_t end = (ingot_const_k + 1) / 2;
  for (int64_t first = 0; first < end; first += segmentColumns / 2) {
    int64_t stop = end - first < segmentColumns / 2 ? end : first + segmentColumns / 2;
    Floats sum[Rows][Panels] = {};
#pragma clang loop unroll(disable)
    for (int64_t i = first; i < stop; ++i) {
      if (asks)
        next.ask(i * panelWords);
      Ints weight[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        weight[p] = loadVector<Ints>(panel + p * Weights::panelBytes() + i * panelWords);
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
  const bool isSingle = ingot_const_tile_rows == 1;
  auto take = [&]<int Panels>(int64_t p) {
    const char *values = weights.panel(panel + p);
    float *to = sums + p * panelRows;
    if (isSingle)
      return pairTile<1, Panels>(values, input.words, true, to);
    if constexpr (Panels <= tilePanels)
      forRowTiles(rows, [&]<int Count>(int64_t row) {
        pairTile<Count, Panels>(values, input.row(row), row == 0, to + row * sumColumns());
      });
  };
  int64_t p = 0;
  if (isSingle)
    for (; p + floatRowPanels <= panels; p += floatRowPanels)
      take.template operator()<floatRowPanels>(p);
  else
    for (; p + tilePanels <= panels; p += tilePanels)
      take.template operator()<tilePanels>(p);
  for (; leavesPanels(isSingle ? floatRowPanels : tilePanels) && p < panels; ++p)
    take.template operator()<1>(p);
}

} // namespace ingot::x86
