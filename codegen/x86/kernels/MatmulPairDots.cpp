// SPDX-License-Identifier: Apache-2.0
// Products of bf16 by bf16, two columns of k at a time.
#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/PackedInput.h"

namespace ingot::x86 {
namespace {

/// sums [rows][sumColumns()] of `Rows` rows by `Panels` panels that follow each other from `panel`
/// on. `words`: of the rows, [word][Rows]. `isFirst`: no tile has read these panels before.
template <int Rows, int Panels>
[[gnu::always_inline]] inline void pairTile(const char *panel, const int32_t *words, bool isFirst,
                                            float *sums) {
  constexpr int64_t panelWords = panelRows * 4;
  // Hardware follows the panels of few rows on its own, faster than requests.
  const bool prefetches = isFirst && Rows > 4;
  const PanelsAhead<Panels> next = {panel, Weights::panelBytes()};
  int64_t end = (ingot_const_k + 1) / 2;
  for (int64_t first = 0; first < end; first += segmentColumns / 2) {
    int64_t stop = end - first < segmentColumns / 2 ? end : first + segmentColumns / 2;
    Floats sum[Rows][Panels] = {};
#pragma clang loop unroll(disable)
    for (int64_t i = first; i < stop; ++i) {
      if (prefetches)
        next.prefetch(i * panelWords);
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

struct PairDots {
  using Scratch = PairDotsScratch;

  static void takeRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    PaddedRow::take(arguments.row(block), scratch.at(scratch.words));
  }

  static void sumRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const int32_t *words = PaddedRow::of(arguments.row(block), scratch.at(scratch.words));
    float *sums = scratch.at(scratch.sums);
    forPanels<floatRowPanels>(block.panels, [&]<int Panels>(int64_t p) {
      pairTile<1, Panels>(arguments.weights.panel(block.weightPanel() + p), words, true,
                          sums + p * panelRows);
    });
  }

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    PackedInput<1>::take<tileRows>(arguments.input, block.rows, scratch.at(scratch.words));
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const PackedInput<1> input = {scratch.at(scratch.words)};
    float *sums = scratch.at(scratch.sums);
    forPanels<tilePanels>(block.panels, [&]<int Panels>(int64_t p) {
      const char *panel = arguments.weights.panel(block.weightPanel() + p);
      forRowTiles(block.rows.count, [&]<int Count>(int64_t row) {
        pairTile<Count, Panels>(panel, input.row(row), row == 0,
                                sums + p * panelRows + row * sumColumns());
      });
    });
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::PairDots>(launch);
}
