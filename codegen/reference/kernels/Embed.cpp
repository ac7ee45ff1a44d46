// SPDX-License-Identifier: Apache-2.0
// llm.embed: one token a tile. Buffers: tokens, table, scales?, zeros?, supers?, result.
#include "codegen/reference/kernels/EncodedWeight.h"

INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t next = 2;
  EncodedWeight table = EncodedWeight::from(launch->buffers, 1, next);
  void *result = launch->buffers[next];
  int64_t row = launch->tile[0];
  int64_t token = static_cast<const int32_t *>(launch->buffers[0])[row];
  token = token < 0 ? 0 : token;
  for (int64_t column = 0; column < ingot_const_weight_columns; ++column)
    storeElement(result, row * ingot_const_weight_columns + column, ingot_const_result_type,
                 table.value(token, column));
}
