// SPDX-License-Identifier: Apache-2.0
// llm.embed: one token a tile. Buffers: tokens, table with what is beside it, result.
#include "codegen/reference/kernels/RowMajorWeight.h"

INGOT_CONST(table_rows);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  void *const *next = launch->buffers + 2;
  RowMajorWeight table = {WeightBuffers::take(launch->buffers[1], next)};
  void *result = *next;
  int64_t row = launch->tile[0];
  int64_t token = static_cast<const int32_t *>(launch->buffers[0])[row];
  token = token < 0 || token >= ingot_const_table_rows ? 0 : token;
  for (int64_t column = 0; column < ingot_const_weight_columns; ++column)
    storeElement(result, row * ingot_const_weight_columns + column, ingot_const_result_type,
                 table.value(token, column));
}
