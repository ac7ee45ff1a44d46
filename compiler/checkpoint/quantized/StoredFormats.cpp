// SPDX-License-Identifier: Apache-2.0
// What a format is.
#include "compiler/checkpoint/quantized/StoredFormats.h"

#include <algorithm>

namespace ingot::checkpoint {

bool StoredFormat::isWidened() const {
  auto widens = [](ElementType element, uint32_t stored) {
    return static_cast<uint32_t>(elementBits(element)) > stored;
  };
  return widens(held.encoding.element(), bits) || widens(held.scaleElement(), scaleBits);
}

const StoredFormat *findFormat(std::span<const StoredFormat> formats, std::string_view packing) {
  auto found = std::find_if(formats.begin(), formats.end(), [&](const StoredFormat &format) {
    const auto &names = format.packings;
    return !packing.empty() && std::find(names.begin(), names.end(), packing) != names.end();
  });
  return found == formats.end() ? nullptr : &*found;
}

} // namespace ingot::checkpoint
