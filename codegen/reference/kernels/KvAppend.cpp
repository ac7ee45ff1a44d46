// SPDX-License-Identifier: Apache-2.0
// llm.kv_append: one token a tile. Buffers: keys, values, positions, token_sequences, block_table,
// cache, static_scales?.
#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/reference/kernels/QuantizedRow.h"

INGOT_CONST(value_dim);
INGOT_CONST(keys_type);
INGOT_CONST(values_type);
INGOT_CONST(static_scales); // 1: their buffer is there

/// Rounds one head of so many columns to the cache's type, at place `slot` of them; `fixed`: its
/// scale, or null for the head's own.
static void append(const void *from, int64_t first, int64_t fromType, int64_t columns, void *to,
                   int64_t slot, float *scale, const float *fixed) {
  int64_t toFirst = slot * columns;
  if (kvScaled()) {
    *scale = quantizeRow(from, first * columns, fromType, columns, to, toFirst, ingot_const_kv_type,
                         fixed);
    return;
  }
  for (int64_t i = 0; i < columns; ++i)
    storeElement(to, toFirst + i, ingot_const_kv_type,
                 loadElement(from, first * columns + i, fromType));
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t token = launch->tile[0];
  int64_t position = static_cast<const int32_t *>(launch->buffers[2])[token];
  KvPlace place = kvPlaceOf(launch, launch->buffers[5], position, launch->buffers[3],
                            launch->buffers[4], token);
  const float *fixed =
      ingot_const_static_scales ? static_cast<const float *>(launch->buffers[6]) : nullptr;
  for (int64_t head = 0; head < ingot_const_kv_heads; ++head) {
    int64_t first = token * ingot_const_kv_heads + head, slot = place.slot(head);
    append(launch->buffers[0], first, ingot_const_keys_type, ingot_const_head_dim, place.keys(),
           slot, place.keyScale(head), fixed);
    append(launch->buffers[1], first, ingot_const_values_type, ingot_const_value_dim,
           place.values(), slot, place.valueScale(head), fixed ? fixed + 1 : nullptr);
  }
}
