// SPDX-License-Identifier: Apache-2.0
// A table lookup for each value.
#include "runtime/images/Patches.h"

namespace ingot::runtime::images {

ValueTable normalisedValues(const ImageSettings &settings) {
  ValueTable table;
  for (size_t channel = 0; channel < 3; ++channel) {
    const float mean = settings.mean[channel] * 255.0f, std = settings.std[channel] * 255.0f;
    for (size_t value = 0; value < 256; ++value)
      table[channel][value] = (float(value) - mean) / std;
  }
  return table;
}

void writePatches(const Pixels &tile, const PatchOrder &order, const ImageSettings &settings,
                  const ValueTable &values, float *to) {
  const size_t side = settings.patch, area = side * side;
  // How far apart neighbours of a channel are, and the channels.
  const bool planar = settings.order == ValueOrder::ChannelRowColumn;
  const size_t next = planar ? 1 : 3, plane = planar ? area : 1;
  for (const auto [y, x] : order.places) {
    for (size_t v = 0; v < side; ++v) {
      const uint8_t *from = tile.rgb.data() + ((y * side + v) * tile.width + x * side) * 3;
      float *line = to + v * side * next;
      for (size_t u = 0; u < side; ++u, from += 3, line += next)
        for (size_t channel = 0; channel < 3; ++channel)
          line[channel * plane] = values[channel][from[channel]];
    }
    to += area * 3;
  }
}

} // namespace ingot::runtime::images
