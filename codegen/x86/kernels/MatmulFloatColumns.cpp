// SPDX-License-Identifier: Apache-2.0
// Products in f32, column after column, of any weights: these are decoded to f32.
#include "codegen/x86/kernels/FloatWeights.h"
#include "codegen/x86/kernels/MatmulFloats.h"

namespace ingot::x86 {
namespace {

struct ColumnOrder {
  [[gnu::always_inline]] static Floats inputColumns(const void *input, int64_t row, int64_t k) {
    return load(ingot_const_input_type, input, row + k);
  }

  template <int Panels>
  [[gnu::always_inline]] static void sumRow(const Weights &weights, int64_t panel,
                                            const float *input, int64_t first, int64_t end,
                                            Floats (&sum)[1][Panels]) {
    decodeColumns<Panels>(weights, panel, first, end,
                          [&](int64_t k, const Floats(&column)[Panels])
                              __attribute__((always_inline)) {
#pragma clang loop unroll(full)
                                for (int p = 0; p < Panels; ++p)
                                  sum[0][p] = fma(column[p], splat(input[k]), sum[0][p]);
                              });
  }

  template <int Panels>
  static void addSegment(const Weights &weights, int64_t panel, const float *block, int64_t first,
                         int64_t end, int64_t rows, float *sums,
                         const FloatColumnsScratch &scratch) {
    float *decoded = scratch.at(scratch.decoded);
    FloatPanels columns = {decoded, segmentColumns * panelRows};
    if (ingot_const_weight_type == kF32 && !ingot_const_scale_extent) {
      columns.stride = ingot_const_k * panelRows;
      columns.first = reinterpret_cast<const float *>(weights.panel(panel)) + first * panelRows;
    } else {
      for (int64_t p = 0; p < Panels; ++p)
        decodeColumns<1>(weights, panel + p, first, end,
                         [&](int64_t k, const Floats(&column)[1]) __attribute__((always_inline)) {
                           storeVector(decoded + p * columns.stride + (k - first) * panelRows,
                                       column[0]);
                         });
    }
    multiplySegment<Panels>(block, [=](int64_t) { return columns; }, end - first, rows, sums);
  }
};

using FloatColumns = FloatMethod<ColumnOrder, FloatColumnsScratch>;

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::FloatColumns>(launch);
}
