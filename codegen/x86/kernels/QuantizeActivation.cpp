// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a tile, group after group. Buffers: input, static_scale?,
// result, scales.
#include "codegen/x86/kernels/QuantizedRow.h"

INGOT_CONST(columns); // of a group
INGOT_CONST(input_type);
INGOT_CONST(result_type);
INGOT_CONST(groups);       // of a row, with a scale each
INGOT_CONST(static_scale); // 1: its buffer is there

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const void *input = launch->buffers[0];
  int64_t row = launch->tile[0] * ingot_const_groups * ingot_const_columns;
  void *const *results = launch->buffers + 1 + ingot_const_static_scale;
  const void *fixed = ingot_const_static_scale ? launch->buffers[1] : nullptr;
  quantizeGroups(launch->tile[0], ingot_const_groups, ingot_const_columns, ingot_const_result_type,
                 results[0], static_cast<float *>(results[1]), static_cast<const float *>(fixed),
                 [&](int64_t i) __attribute__((always_inline)) {
                   return load(ingot_const_input_type, input, row + i);
                 });
}
