// SPDX-License-Identifier: Apache-2.0
// llm.gather_rows and llm.slice_columns: bytes of one row a tile.
#include "codegen/native/kernels/Kernel.h"

INGOT_CONST(input_row_bytes);
INGOT_CONST(first_byte); ///< within the input's row
INGOT_CONST(result_row_bytes);
INGOT_CONST(gather); ///< 1: buffers are input, rows, result; 0: input, result

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  int64_t source = row;
  if (ingot_const_gather)
    source = static_cast<const int32_t *>(launch->buffers[1])[row];
  const char *from = static_cast<const char *>(launch->buffers[0]) +
                     source * ingot_const_input_row_bytes + ingot_const_first_byte;
  char *to = static_cast<char *>(launch->buffers[ingot_const_gather ? 2 : 1]) +
             row * ingot_const_result_row_bytes;
  __builtin_memcpy(to, from, uint64_t(ingot_const_result_row_bytes));
}
