// SPDX-License-Identifier: Apache-2.0
// Transposition of a 16 x 16 block held in vectors.
#pragma once

#include "codegen/x86/kernels/Vector.h"

namespace ingot::x86 {

/// Exchanges lane j of block[i] with lane i of block[j].
[[gnu::always_inline]] inline void transpose(Floats (&block)[lanes]) {
  // Each step exchanges halves, quarters, ... of rows that far apart.
  Floats next[lanes];
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) {
    next[i] = __builtin_shufflevector(block[i], block[i + 8], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18,
                                      19, 20, 21, 22, 23);
    next[i + 8] = __builtin_shufflevector(block[i], block[i + 8], 8, 9, 10, 11, 12, 13, 14, 15, 24,
                                          25, 26, 27, 28, 29, 30, 31);
  }
#pragma clang loop unroll(full)
  for (int j = 0; j < lanes; j += 8)
#pragma clang loop unroll(full)
    for (int i = j; i < j + 4; ++i) {
      block[i] = __builtin_shufflevector(next[i], next[i + 4], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10,
                                         11, 24, 25, 26, 27);
      block[i + 4] = __builtin_shufflevector(next[i], next[i + 4], 4, 5, 6, 7, 20, 21, 22, 23, 12,
                                             13, 14, 15, 28, 29, 30, 31);
    }
#pragma clang loop unroll(full)
  for (int j = 0; j < lanes; j += 4)
#pragma clang loop unroll(full)
    for (int i = j; i < j + 2; ++i) {
      next[i] = __builtin_shufflevector(block[i], block[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9,
                                        24, 25, 12, 13, 28, 29);
      next[i + 2] = __builtin_shufflevector(block[i], block[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10,
                                            11, 26, 27, 14, 15, 30, 31);
    }
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; i += 2) {
    block[i] = __builtin_shufflevector(next[i], next[i + 1], 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10,
                                       26, 12, 28, 14, 30);
    block[i + 1] = __builtin_shufflevector(next[i], next[i + 1], 1, 17, 3, 19, 5, 21, 7, 23, 9, 25,
                                           11, 27, 13, 29, 15, 31);
  }
}

} // namespace ingot::x86
