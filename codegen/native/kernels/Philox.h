// SPDX-License-Identifier: Apache-2.0
// The counter-based generator Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011): a draw depends on its key and counter only.
#pragma once

#include "codegen/native/kernels/Kernel.h"

struct PhiloxBlock {
  uint32_t words[4];
};

INGOT_INLINE PhiloxBlock philox(uint64_t key, uint64_t counterLow, uint64_t counterHigh) {
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  PhiloxBlock x = {{uint32_t(counterLow), uint32_t(counterLow >> 32), uint32_t(counterHigh),
                    uint32_t(counterHigh >> 32)}};
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53u) * x.words[0];
    uint64_t product1 = uint64_t(0xCD9E8D57u) * x.words[2];
    x = {{uint32_t(product1 >> 32) ^ x.words[1] ^ key0, uint32_t(product1),
          uint32_t(product0 >> 32) ^ x.words[3] ^ key1, uint32_t(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

/// A uniform number in [0, 1) with 53 random bits.
INGOT_INLINE double uniform(uint64_t seed, uint64_t step) {
  PhiloxBlock block = philox(seed, step, 0);
  uint64_t bits = uint64_t(block.words[0]) << 32 | block.words[1];
  return double(int64_t(bits >> 11)) * 0x1p-53;
}
