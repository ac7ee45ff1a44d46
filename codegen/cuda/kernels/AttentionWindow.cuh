// SPDX-License-Identifier: Apache-2.0
// Which positions a token attends to.
#pragma once

#include "Kernel.cuh"

namespace absent {
enum : i64 {
  reaches = 0,        ///< 1: each token has one, the last position that it attends to, behind sinks
  rotary_columns = 0, ///< of a query head, the last, which stand apart, behind reaches
  rotary_type = 0
};
} // namespace absent
namespace constants {
using namespace absent; // what an op leaves out is found there
}

/// Buffers behind the cache, where there are any: sinks, reaches, rotary columns, results.
INGOT_DEVICE constexpr int reachesBuffer() { return int(5 + constants::sinks); }
INGOT_DEVICE constexpr int rotaryBuffer() { return int(reachesBuffer() + constants::reaches); }
INGOT_DEVICE constexpr int resultBuffer() {
  return rotaryBuffer() + (constants::rotary_columns != 0);
}

/// Positions that a token attends to; 0: all before it.
constexpr i32 kWindow = i32(constants::window);

/// A token's own position, and the last that it attends to.
struct Seen {
  i32 position, last;
};

/// The first position that a token at `position` attends to.
INGOT_DEVICE i32 firstSeen(i32 position) {
  if constexpr (kWindow == 0)
    return 0;
  else if constexpr (constants::chunked != 0)
    return position - position % kWindow;
  else
    return kWindow <= position ? position + 1 - kWindow : 0;
}

/// The last position that token `token` at `position` attends to.
INGOT_DEVICE i32 lastSeen(const Launch &launch, i64 token, i32 position) {
  if constexpr (constants::reaches == 0)
    return position;
  else
    return i32(most(position, launch.buffer<const i32>(reachesBuffer())[token]));
}
