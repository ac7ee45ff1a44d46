// SPDX-License-Identifier: Apache-2.0
// llm.rope_append: one token a tile. Buffers: qkv, positions, inv_freq, token_sequences,
// block_table, cache, static_scales?, rotary?, result.
#include "codegen/x86/kernels/CacheWriter.h"
#include "codegen/x86/kernels/Rotation.h"

INGOT_CONST(query_heads);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const void *qkv = launch->buffers[0];
  int64_t token = launch->tile[0];
  int32_t position = static_cast<const int32_t *>(launch->buffers[1])[token];
  float *factors = static_cast<float *>(launch->scratch);
  float *key = factors + 2 * rotationStride(ingot_const_head_dim);
  const int64_t behindScales = 6 + ingot_const_static_scales;
  rotationFactors(launch->buffers[hasAxes() ? behindScales : 1], token,
                  static_cast<const float *>(launch->buffers[2]), factors);

  int64_t first =
      token * (ingot_const_query_heads + 2 * ingot_const_kv_heads) * ingot_const_head_dim;
  for (int64_t head = 0; head < ingot_const_query_heads; ++head)
    rotateHead(ingot_const_input_type, qkv, first + head * ingot_const_head_dim, factors,
               ingot_const_result_type, launch->buffers[behindScales + hasAxes()],
               (token * ingot_const_query_heads + head) * ingot_const_head_dim);

  KvPlace place = kvPlaceOf(launch, launch->buffers[5], position, launch->buffers[3],
                            launch->buffers[4], token);
  const float *fixed = fixedScales(launch->buffers + 5);
  int64_t keys = first + ingot_const_query_heads * ingot_const_head_dim;
  int64_t values = keys + ingot_const_kv_heads * ingot_const_head_dim;
  for (int64_t head = 0; head < ingot_const_kv_heads; ++head) {
    // The key is rounded to the result's type on its way to the cache.
    rotateHead(ingot_const_input_type, qkv, keys + head * ingot_const_head_dim, factors,
               ingot_const_result_type, key, 0);
    appendHead(ingot_const_result_type, key, 0, place.keys(), place.element(head),
               place.keyScale(head), fixed);
    appendHead(ingot_const_input_type, qkv, values + head * ingot_const_head_dim, place.values(),
               place.element(head), place.valueScale(head), fixed ? fixed + 1 : nullptr);
  }
}
