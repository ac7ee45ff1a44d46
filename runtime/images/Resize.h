// SPDX-License-Identifier: Apache-2.0
// Pictures in memory, and resampling to another size with Pillow's arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime::images {

/// 8-bit RGB, rows from the top, `width * height * 3` bytes.
struct Pixels {
  uint32_t width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

enum class Filter : uint32_t { Bilinear, Bicubic, Lanczos };

/// No side of a picture that is resized is longer.
inline constexpr uint32_t longestSide = 65535;

/// `pixels` in another size: weights of 22 bits, 8 bits between the passes, the filter widened when
/// shrinking; always horizontally first, where Pillow chooses. Sides are 1 to `longestSide`.
Pixels resize(const Pixels &pixels, uint32_t width, uint32_t height, Filter filter);

} // namespace ingot::runtime::images
