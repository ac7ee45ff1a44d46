// SPDX-License-Identifier: Apache-2.0
// llm.latent_append: one token a tile. Buffers: latent, rotary, positions, token_sequences,
// block_table, cache.
#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/reference/kernels/QuantizedRow.h"

INGOT_CONST(value_dim);
INGOT_CONST(latent_type);
INGOT_CONST(rotary_type);

/// One of the two parts of a key.
struct Part {
  const void *from;
  int64_t type, columns, first; ///< `first`: its place in the key

  /// Column `i` of the part for a token.
  float at(int64_t token, int64_t i) const { return loadElement(from, token * columns + i, type); }
};

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t token = launch->tile[0];
  int64_t position = static_cast<const int32_t *>(launch->buffers[2])[token];
  KvPlace place = kvPlaceOf(launch, launch->buffers[5], position, launch->buffers[3],
                            launch->buffers[4], token);
  const Part parts[] = {{launch->buffers[0], ingot_const_latent_type, ingot_const_value_dim, 0},
                        {launch->buffers[1], ingot_const_rotary_type,
                         ingot_const_head_dim - ingot_const_value_dim, ingot_const_value_dim}};
  float scale = 1;
  if (kvScaled()) {
    float amax = 0;
    for (const Part &part : parts)
      for (int64_t i = 0; i < part.columns; ++i) {
        float value = part.at(token, i), magnitude = value < 0 ? -value : value;
        amax = magnitude > amax ? magnitude : amax;
      }
    if (amax > 0)
      scale = amax / quantizedLimit(ingot_const_kv_type);
    *place.keyScale(0) = scale;
  }
  for (const Part &part : parts)
    for (int64_t i = 0; i < part.columns; ++i)
      storeElement(place.keys(), place.element(0) + part.first + i, ingot_const_kv_type,
                   kvScaled() ? part.at(token, i) / scale : part.at(token, i));
}
