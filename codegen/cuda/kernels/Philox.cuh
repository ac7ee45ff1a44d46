// SPDX-License-Identifier: Apache-2.0
// The counter-based generator Philox4x32-10, as codegen/native/kernels/Philox.h.
#pragma once

#include "Kernel.cuh"

/// A uniform number in [0, 1) with 53 random bits.
INGOT_DEVICE double uniform(u64 seed, u64 step) {
  u32 key0 = u32(seed), key1 = u32(seed >> 32);
  u32 x0 = u32(step), x1 = u32(step >> 32), x2 = 0, x3 = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    u64 product0 = u64(0xD2511F53u) * x0, product1 = u64(0xCD9E8D57u) * x2;
    x0 = u32(product1 >> 32) ^ x1 ^ key0;
    x1 = u32(product1);
    x2 = u32(product0 >> 32) ^ x3 ^ key1;
    x3 = u32(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  u64 bits = u64(x0) << 32 | x1;
  return double(i64(bits >> 11)) * 0x1p-53;
}
