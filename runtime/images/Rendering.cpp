// SPDX-License-Identifier: Apache-2.0
// Checks renderings; both sides of the decoder do.
#include "runtime/images/Rendering.h"

#include <string>

namespace ingot::runtime::images {

Result<uint64_t> renderedBytes(const Rendering &rendering, uint32_t width, uint32_t height) {
  const auto refuse = [](std::string what) {
    return Status::error("INGOT-E6806", std::move(what), "correct the engine's image settings");
  };
  if (rendering.scalings.size() > mostScalings || rendering.crops.size() > mostCrops)
    return refuse("a picture becomes too many others");
  std::vector<std::pair<uint32_t, uint32_t>> sizes = {{width, height}};
  uint64_t scaled = 0;
  for (const Scaling &scaling : rendering.scalings) {
    if (scaling.source >= sizes.size() || scaling.width == 0 || scaling.height == 0 ||
        scaling.width > longestSide || scaling.height > longestSide ||
        scaling.filter > Filter::Lanczos)
      return refuse("a picture cannot be resized to " + std::to_string(scaling.width) + " x " +
                    std::to_string(scaling.height));
    sizes.emplace_back(scaling.width, scaling.height);
    scaled += uint64_t(scaling.width) * scaling.height * 3;
  }
  uint64_t bytes = 0;
  for (const Crop &crop : rendering.crops) {
    if (crop.source >= sizes.size())
      return refuse("a part of no picture is asked for");
    const auto [whole, tall] = sizes[crop.source];
    if (crop.width == 0 || crop.height == 0 || crop.x > whole || crop.y > tall ||
        crop.width > whole - crop.x || crop.height > tall - crop.y)
      return refuse("a part lies outside its picture");
    bytes += uint64_t(crop.width) * crop.height * 3;
  }
  if (scaled > mostRenderedBytes || bytes > mostRenderedBytes)
    return refuse("a picture becomes one that is too large");
  return bytes;
}

} // namespace ingot::runtime::images
