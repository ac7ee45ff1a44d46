// SPDX-License-Identifier: Apache-2.0
// Rows that stand in the place of a picture's tokens.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// What "encode" makes of a picture: [tokens, hidden] in the order of its tokens, and likewise what
/// is added behind layers.
struct EncodedPicture {
  std::vector<std::vector<float>> rows;

  uint64_t bytes() const {
    uint64_t size = 0;
    for (const std::vector<float> &each : rows)
      size += each.size() * sizeof(float);
    return size;
  }
};

} // namespace ingot::runtime
