// SPDX-License-Identifier: Apache-2.0
// llm.combine: one row of the result a tile. Buffers: input, weights if `weighted`,
// result.
#include "codegen/native/kernels/Elements.h"

INGOT_CONST(columns);
INGOT_CONST(top_k); ///< rows of the input for one of the result
INGOT_CONST(weighted);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

/// Columns that are summed side by side.
constexpr int64_t kColumns = 16;

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0], rowBegin = row * ingot_const_top_k;
  const float *weights =
      ingot_const_weighted ? static_cast<const float *>(launch->buffers[1]) + rowBegin : nullptr;
  for (int64_t begin = 0; begin < ingot_const_columns; begin += kColumns) {
    int64_t left = ingot_const_columns - begin, count = left < kColumns ? left : kColumns;
    float sums[kColumns] = {};
    for (int64_t s = 0; s < ingot_const_top_k; ++s)
      for (int64_t i = 0; i < count; ++i)
        sums[i] += (weights ? weights[s] : 1) *
                   loadElement(launch->buffers[0], (rowBegin + s) * ingot_const_columns + begin + i,
                               ingot_const_input_type);
    for (int64_t i = 0; i < count; ++i)
      storeElement(launch->buffers[1 + ingot_const_weighted], row * ingot_const_columns + begin + i,
                   ingot_const_result_type, sums[i]);
  }
}
