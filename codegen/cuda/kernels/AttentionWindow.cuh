// SPDX-License-Identifier: Apache-2.0
// Which positions a token attends to.
#pragma once

#include "Kernel.cuh"

/// Positions that a token attends to; 0: all before it.
constexpr i32 kWindow = i32(constants::window);

/// The first position that a token at `position` attends to.
INGOT_DEVICE i32 firstSeen(i32 position) {
  if constexpr (kWindow == 0)
    return 0;
  else if constexpr (constants::chunked != 0)
    return position - position % kWindow;
  else
    return kWindow <= position ? position + 1 - kWindow : 0;
}
