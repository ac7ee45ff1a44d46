// SPDX-License-Identifier: Apache-2.0
// llm.round: one row a tile. Buffers: input, result.
#include "codegen/native/kernels/Elements.h"

INGOT_CONST(columns);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t first = launch->tile[0] * ingot_const_columns;
  for (int64_t i = first; i < first + ingot_const_columns; ++i)
    storeElement(launch->buffers[1], i, ingot_const_result_type,
                 loadElement(launch->buffers[0], i, ingot_const_input_type));
}
