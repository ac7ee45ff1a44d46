// SPDX-License-Identifier: Apache-2.0
// Which of a row's positions a frequency of rotary embedding takes.
#pragma once

#include "Kernel.cuh"

namespace absent {
/// Positions of a row; the axes of sixteen frequencies each, two bits a frequency.
enum : i64 {
  axes = 1,
  axes_0 = 0,
  axes_1 = 0,
  axes_2 = 0,
  axes_3 = 0,
  axes_4 = 0,
  axes_5 = 0,
  axes_6 = 0,
  axes_7 = 0
};
} // namespace absent
namespace constants {
using namespace absent; // what an op leaves out is found there
}

/// The axis of frequency `i`.
INGOT_DEVICE int axisOf(int i) {
  const u32 words[] = {u32(constants::axes_0), u32(constants::axes_1), u32(constants::axes_2),
                       u32(constants::axes_3), u32(constants::axes_4), u32(constants::axes_5),
                       u32(constants::axes_6), u32(constants::axes_7)};
  u32 word = 0;
#pragma unroll
  for (int at = 0; at < 8; ++at)
    word = i / 16 == at ? words[at] : word;
  return int(word >> (i % 16 * 2) & 3);
}
