// SPDX-License-Identifier: Apache-2.0
// llm.place_rows: one row a tile. Buffers: rows, given, places, result.
#include "codegen/native/kernels/Elements.h"

INGOT_CONST(columns);
INGOT_CONST(rows_type); ///< of the result too
INGOT_CONST(given_type);
INGOT_CONST(added);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  int64_t place = static_cast<const int32_t *>(launch->buffers[2])[row];
  bool isGiven = place >= 0;
  const char *from = static_cast<const char *>(launch->buffers[isGiven ? 1 : 0]);
  if (isGiven && ingot_const_added) {
    for (int64_t i = 0; i < ingot_const_columns; ++i)
      storeElement(
          launch->buffers[3], row * ingot_const_columns + i, ingot_const_rows_type,
          loadElement(launch->buffers[0], row * ingot_const_columns + i, ingot_const_rows_type) +
              loadElement(from, place * ingot_const_columns + i, ingot_const_given_type));
    return;
  }
  int64_t first = (isGiven ? place : row) * ingot_const_columns, to = row * ingot_const_columns;
  if (!isGiven || ingot_const_given_type == ingot_const_rows_type) {
    const int64_t bytes = elementBits(ingot_const_rows_type) / 8;
    __builtin_memcpy(static_cast<char *>(launch->buffers[3]) + to * bytes, from + first * bytes,
                     uint64_t(ingot_const_columns * bytes));
    return;
  }
  for (int64_t i = 0; i < ingot_const_columns; ++i)
    storeElement(launch->buffers[3], to + i, ingot_const_rows_type,
                 loadElement(from, first + i, ingot_const_given_type));
}
