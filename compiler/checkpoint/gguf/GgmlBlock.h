// SPDX-License-Identifier: Apache-2.0
// The parts of a block of quantized numbers, taken apart.
#pragma once

#include <cstdint>

namespace ingot::checkpoint {

/// The parts of one block. Which are there follows from its GgmlEncoding; others are not written.
struct GgmlBlock {
  static constexpr uint32_t kMostElements = 256, kMostGroups = 16;
  uint8_t stored[kMostElements]; ///< i8 for Int8 and Affine8
  float scales[kMostGroups], offsets[kMostGroups];
  uint8_t scaleCodes[kMostGroups], offsetCodes[kMostGroups]; ///< as #llm.encoding has them
  float superScales[2];
};

} // namespace ingot::checkpoint
