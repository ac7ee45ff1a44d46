// SPDX-License-Identifier: Apache-2.0
// Patches against the place of each value.
#include "runtime/images/Patches.h"
#include "tests/unit/images/ModelSettings.h"
#include "tests/unit/images/SmallPictures.h"

#include <gtest/gtest.h>

namespace ingot::runtime::images {
namespace {

using namespace test;

TEST(Patches, ValuesAreNormalisedInSingles) {
  const ImageSettings settings = qwen25();
  const ValueTable table = normalisedValues(settings);
  for (size_t channel = 0; channel < 3; ++channel)
    for (int value : {0, 1, 127, 255})
      EXPECT_NEAR(table[channel][size_t(value)],
                  (value / 255.0 - double(settings.mean[channel])) / double(settings.std[channel]),
                  1e-6);
  EXPECT_EQ(normalisedValues(gemma4())[0][255], 1.0f);
  EXPECT_EQ(normalisedValues(gemma4())[0][51], 51.0f / 255.0f);
  EXPECT_EQ(normalisedValues(qwen3())[2][0], -1.0f);
}

TEST(Patches, EachValueIsWhereItsOrderSays) {
  for (const ValueOrder valueOrder : {ValueOrder::ChannelRowColumn, ValueOrder::RowColumnChannel}) {
    ImageSettings settings = qwen25();
    settings.order = valueOrder;
    const Tile tile{10, 14, 5, 7};
    const Pixels pixels = slopes(14 * 14, 10 * 14);
    const PatchOrder order = orderPatches(tile, settings);
    const ValueTable table = normalisedValues(settings);
    std::vector<float> patches(tile.patches() * settings.patchValues());
    writePatches(pixels, order, settings, table, patches.data());
    for (size_t i = 0; i < order.places.size(); ++i)
      for (uint32_t y = 0; y < 14; ++y)
        for (uint32_t x = 0; x < 14; ++x)
          for (uint32_t channel = 0; channel < 3; ++channel) {
            const size_t row = order.places[i].y * 14 + y, column = order.places[i].x * 14 + x;
            const size_t at = valueOrder == ValueOrder::ChannelRowColumn
                                  ? (channel * 14 + y) * 14 + x
                                  : (y * 14 + x) * 3 + channel;
            ASSERT_EQ(patches[i * settings.patchValues() + at],
                      table[channel][pixels.rgb[(row * pixels.width + column) * 3 + channel]]);
          }
  }
}

} // namespace
} // namespace ingot::runtime::images
