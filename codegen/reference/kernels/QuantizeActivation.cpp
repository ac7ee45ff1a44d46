// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a tile. Buffers: input, result, scales.
#include "codegen/reference/kernels/QuantizedRow.h"

INGOT_CONST(columns);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  int64_t first = row * ingot_const_columns;
  static_cast<float *>(launch->buffers[2])[row] =
      quantizeRow(launch->buffers[0], first, ingot_const_input_type, ingot_const_columns,
                  launch->buffers[1], first, ingot_const_result_type);
}
