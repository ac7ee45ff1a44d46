// SPDX-License-Identifier: Apache-2.0
// Products of bf16 by bf16 in f32, in the order of dot products of pairs: of each pair of columns
// the odd one first.
#include "codegen/x86/kernels/MatmulFloats.h"

namespace ingot::x86 {
namespace {

/// Panels of bf16 that follow each other, in pairs of columns as they are stored.
struct PairPanels {
  static constexpr int64_t step = 2;
  const char *first;       ///< the first panel
  int64_t offset;          ///< of a segment's first column
  bool prefetches = false; ///< for what follows

  [[gnu::always_inline]] Floats column(int64_t i, int64_t j, int p) const {
    const int64_t place = offset + i * panelRows * 2;
    if (prefetches && j == 0)
      PanelsAhead<1>{first + p * Weights::panelBytes(), Weights::panelBytes()}.prefetch(place);
    auto pair = loadVector<UInts>(first + p * Weights::panelBytes() + place);
    return (Floats)(j == 0 ? pair & 0xffff0000u : pair << 16);
  }
};

struct PairOrder {
  /// Zeros complete the last pair.
  [[gnu::always_inline]] static Floats inputColumns(const void *input, int64_t row, int64_t k) {
    Floats x = load(kBf16, input, row + k);
    if (ingot_const_k % 2 != 0)
      x = laneIndex() < int32_t(ingot_const_k - k) ? x : Floats{};
    return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  }

  template <int Panels>
  [[gnu::always_inline]] static void sumRow(const Weights &weights, int64_t panel,
                                            const float *input, int64_t first, int64_t end,
                                            Floats (&sum)[1][Panels]) {
    const PairPanels columns = {weights.panel(panel), first * panelRows * 2};
    multiplyTile<1, Panels>(input + first, 0, columns, roundUp(end - first, 2), sum);
  }

  template <int Panels>
  static void addSegment(const Weights &weights, int64_t panel, const float *block, int64_t first,
                         int64_t end, int64_t rows, float *sums, const FloatPairsScratch &) {
    PairPanels columns = {weights.panel(panel), first * panelRows * 2};
    multiplySegment<Panels>(
        block,
        [=](int64_t row) mutable {
          columns.prefetches = row == 0;
          return columns;
        },
        roundUp(end - first, 2), rows, sums);
  }
};

using FloatPairs = FloatMethod<PairOrder, FloatPairsScratch>;

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::FloatPairs>(launch);
}
