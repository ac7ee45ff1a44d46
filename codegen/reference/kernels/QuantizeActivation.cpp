// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a tile. Buffers: input, static_scale?, result, scales.
#include "codegen/reference/kernels/QuantizedRow.h"

INGOT_CONST(columns);
INGOT_CONST(input_type);
INGOT_CONST(result_type);
INGOT_CONST(static_scale); // 1: its buffer is there

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  int64_t first = row * ingot_const_columns;
  void *const *results = launch->buffers + 1 + ingot_const_static_scale;
  const void *fixed = ingot_const_static_scale ? launch->buffers[1] : nullptr;
  static_cast<float *>(results[1])[row] =
      quantizeRow(launch->buffers[0], first, ingot_const_input_type, ingot_const_columns,
                  results[0], first, ingot_const_result_type, static_cast<const float *>(fixed));
}
