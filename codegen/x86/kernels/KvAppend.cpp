// SPDX-License-Identifier: Apache-2.0
// llm.kv_append: one token a tile. Buffers: keys, values, positions, token_sequences, block_table,
// cache, static_scales?.
#include "codegen/x86/kernels/CacheWriter.h"

INGOT_CONST(keys_type);
INGOT_CONST(values_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  int64_t token = launch->tile[0];
  int32_t position = static_cast<const int32_t *>(launch->buffers[2])[token];
  KvPlace place = kvPlaceOf(launch, launch->buffers[5], position, launch->buffers[3],
                            launch->buffers[4], token);
  const float *fixed = fixedScales(launch->buffers + 5);
  for (int64_t head = 0; head < ingot_const_kv_heads; ++head) {
    int64_t first = (token * ingot_const_kv_heads + head) * ingot_const_head_dim;
    appendHead(ingot_const_keys_type, launch->buffers[0], first, place.keys(), place.element(head),
               place.keyScale(head), fixed);
    appendHead(ingot_const_values_type, launch->buffers[1], first, place.values(),
               place.element(head), place.valueScale(head), fixed ? fixed + 1 : nullptr);
  }
}
