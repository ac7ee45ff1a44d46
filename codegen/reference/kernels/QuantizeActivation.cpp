// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a tile, group after group. Buffers: input, static_scale?,
// result, scales.
#include "codegen/reference/kernels/QuantizedRow.h"

INGOT_CONST(columns); // of a group
INGOT_CONST(input_type);
INGOT_CONST(result_type);
INGOT_CONST(groups);       // of a row, with a scale each
INGOT_CONST(static_scale); // 1: its buffer is there

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  void *const *results = launch->buffers + 1 + ingot_const_static_scale;
  const void *fixed = ingot_const_static_scale ? launch->buffers[1] : nullptr;
  int64_t group = launch->tile[0] * ingot_const_groups, end = group + ingot_const_groups;
  for (; group < end; ++group) {
    int64_t first = group * ingot_const_columns;
    static_cast<float *>(results[1])[group] =
        quantizeRow(launch->buffers[0], first, ingot_const_input_type, ingot_const_columns,
                    results[0], first, ingot_const_result_type, static_cast<const float *>(fixed));
  }
}
