// SPDX-License-Identifier: Apache-2.0
// Writes heads of keys and values into the paged cache, in the cache's type.
#pragma once

#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/x86/kernels/QuantizedRow.h"

INGOT_CONST(static_scales); // 1: their buffer follows the cache

namespace ingot::x86 {

/// The cache's scales in the buffer that follows it: of keys, of values; null where each head has
/// its own.
inline const float *fixedScales(void *const *cache) {
  return ingot_const_static_scales ? static_cast<const float *>(cache[1]) : nullptr;
}

/// Rounds the head at element `first` of `from` to the cache's type, at element `toFirst` of `to`;
/// `scale` is set where the cache has scales: to *fixed, or where that is null to the head's own.
inline void appendHead(int64_t fromType, const void *from, int64_t first, void *to, int64_t toFirst,
                       float *scale, const float *fixed) {
  if (kvScaled()) {
    *scale = quantizeRow(
        ingot_const_head_dim, ingot_const_kv_type, to, toFirst, fixed,
        [&](int64_t i) __attribute__((always_inline)) { return load(fromType, from, first + i); });
    return;
  }
  for (int64_t i = 0; i < ingot_const_head_dim; i += lanes)
    store(ingot_const_kv_type, to, toFirst + i, load(fromType, from, first + i),
          ingot_const_head_dim - i);
}

} // namespace ingot::x86
