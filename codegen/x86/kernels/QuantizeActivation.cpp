// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a tile. Buffers: input, result, scales.
#include "codegen/x86/kernels/QuantizedRow.h"

INGOT_CONST(columns);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const void *input = launch->buffers[0];
  int64_t row = launch->tile[0], first = row * ingot_const_columns;
  static_cast<float *>(launch->buffers[2])[row] =
      quantizeRow(ingot_const_columns, ingot_const_result_type, launch->buffers[1], first,
                  [&](int64_t i) __attribute__((always_inline)) {
                    return load(ingot_const_input_type, input, first + i);
                  });
}
