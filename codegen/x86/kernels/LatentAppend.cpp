// SPDX-License-Identifier: Apache-2.0
// llm.latent_append: one token a tile. Buffers: latent, rotary, positions, token_sequences,
// block_table, cache.
#include "codegen/x86/kernels/CacheWriter.h"

INGOT_CONST(value_dim);
INGOT_CONST(latent_type);
INGOT_CONST(rotary_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  int64_t token = launch->tile[0];
  int32_t position = static_cast<const int32_t *>(launch->buffers[2])[token];
  KvPlace place = kvPlaceOf(launch, launch->buffers[5], position, launch->buffers[3],
                            launch->buffers[4], token);
  float *key = static_cast<float *>(launch->scratch);
  auto put = [&](int64_t type, const void *from, int64_t columns, float *to)
                 __attribute__((always_inline)) {
                   for (int64_t i = 0; i < columns; i += lanes)
                     storeVector(to + i, load(type, from, token * columns + i));
                 };
  put(ingot_const_latent_type, launch->buffers[0], ingot_const_value_dim, key);
  put(ingot_const_rotary_type, launch->buffers[1], ingot_const_head_dim - ingot_const_value_dim,
      key + ingot_const_value_dim);
  appendHead(kF32, key, 0, place.keys(), place.element(0), place.keyScale(0), nullptr);
}
