// SPDX-License-Identifier: Apache-2.0
// Writes heads of keys and values into the paged cache, in the cache's type.
#pragma once

#include "KvBlocks.cuh"

/// Whether the buffer behind the cache's, which is number 5, has two scales of the checkpoint.
constexpr bool kStaticScales = constants::static_scales != 0;

/// The scale of all keys (`part` 0) or values (1); null where each head has its own.
INGOT_DEVICE const float *fixedScale(const Launch &launch, int part) {
  return kStaticScales ? launch.buffer<const float>(6) + part : nullptr;
}

/// Rounds a head to the cache's type; a warp together. `scale` is set where the cache has scales:
/// to *fixed, or where that is null to the head's own.
INGOT_DEVICE void appendHead(Head head, void *to, i64 first, float *scale, const float *fixed) {
  if constexpr (kKvScaled) {
    float divisor;
    if constexpr (kStaticScales) {
      divisor = *fixed;
    } else {
      float amax = 0;
      forElements(head, [&](float &value) { amax = fmaxf(amax, fabsf(value)); });
      divisor = quantizedScale<constants::kv_type>(warpMax(amax));
    }
    forElements(head, [&](float &value) {
      value = scaled<constants::kv_type, kStaticScales>(value, divisor);
    });
    if (threadIdx.x % kWarpSize == 0)
      *scale = divisor;
  }
  storeHead<constants::kv_type>(to, first, head);
}
