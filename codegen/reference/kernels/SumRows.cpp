// SPDX-License-Identifier: Apache-2.0
// llm.combine in any order: one row of the result a tile. Buffers: input, weights if `weighted`,
// result.
#include "codegen/native/kernels/Elements.h"
#include "codegen/reference/kernels/SumUnits.h"

INGOT_CONST(columns);
INGOT_CONST(top_k); ///< rows of the input for one of the result
INGOT_CONST(weighted);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0], first = row * ingot_const_top_k;
  const float *weights =
      ingot_const_weighted ? static_cast<const float *>(launch->buffers[1]) + first : nullptr;
  for (int64_t i = 0; i < ingot_const_columns; ++i) {
    auto weight = [&](int64_t s) { return weights ? weights[s] : 1.0f; };
    auto element = [&](int64_t s) {
      return loadElement(launch->buffers[0], (first + s) * ingot_const_columns + i,
                         ingot_const_input_type);
    };
    float sum = sumOfSegments(ingot_const_top_k, [&](int64_t begin, int64_t end) {
      return sumOf(begin, end, weight, element);
    });
    storeElement(launch->buffers[1 + ingot_const_weighted], row * ingot_const_columns + i,
                 ingot_const_result_type, sum);
  }
}
