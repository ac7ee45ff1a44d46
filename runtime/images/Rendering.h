// SPDX-License-Identifier: Apache-2.0
// What is asked of the decoder: a picture in other sizes, and parts of those.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/images/Resize.h"

#include <cstdint>
#include <vector>

namespace ingot::runtime::images {

/// `source` in another size.
struct Scaling {
  uint32_t source = 0; ///< 0: the picture; n: what scaling n - 1 made, which stands before
  uint32_t width = 0, height = 0;
  Filter filter = Filter::Bicubic;
};

/// A rectangle of `source`, numbered likewise.
struct Crop {
  uint32_t source = 0;
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

struct Rendering {
  std::vector<Scaling> scalings;
  std::vector<Crop> crops;
};

inline constexpr size_t mostScalings = 8, mostCrops = 256;
inline constexpr uint64_t mostRenderedBytes = uint64_t(512) << 20;

/// Bytes of all crops. INGOT-E6806: a scaling or crop does not fit a picture of this size, or all
/// are too large.
Result<uint64_t> renderedBytes(const Rendering &rendering, uint32_t width, uint32_t height);

} // namespace ingot::runtime::images
