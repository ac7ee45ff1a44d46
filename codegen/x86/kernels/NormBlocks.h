// SPDX-License-Identifier: Apache-2.0
// Block sizes of the norm kernel; also read by the provider.
#pragma once

#include <stdint.h>

namespace ingot::x86 {

/// Columns that are summed together; part of the numerics of llm.norm.
constexpr int64_t normSegmentColumns = 256;

/// Segments that are summed side by side.
constexpr int64_t normSegments = 8;
constexpr int64_t normBlock = normSegmentColumns * normSegments;

constexpr int64_t roundUpToBlock(int64_t columns) {
  return (columns + normBlock - 1) / normBlock * normBlock;
}

/// Scratch: the row, and what of it is summed, f32.
constexpr int64_t normScratchBytes(int64_t columns) { return 2 * 4 * roundUpToBlock(columns); }

} // namespace ingot::x86
