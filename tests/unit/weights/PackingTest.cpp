// SPDX-License-Identifier: Apache-2.0
// How layouts are cut into tiles; what lies where is covered by StreamerTest.cpp.
#include "compiler/weights/Packing.h"

#include <gtest/gtest.h>

using namespace ingot::compiler;

namespace {

TEST(Packing, PanelsAreCutAtPanelsAndThenAtColumns) {
  PackedLayout layout({{0, 16, 11}, {1, 1, 64}, {0, 1, 16}}, 172, 64, 16);
  const auto &cuts = layout.cuts();
  ASSERT_EQ(cuts.size(), 3u); // and at single elements
  EXPECT_EQ(cuts[0].units, 11);
  EXPECT_EQ(cuts[0].unitRows, 16);
  EXPECT_EQ(cuts[0].unitColumns, 64);
  EXPECT_EQ(cuts[0].unitPlaces, 16 * 64);
  EXPECT_EQ(cuts[1].runs, 11);
  EXPECT_EQ(cuts[1].unitRows, 16);
  EXPECT_EQ(cuts[1].unitColumns, 1);
  EXPECT_FALSE(cuts[1].alongRows);
  PackedTile tile = layout.tile(cuts[1], 3, 5, 7);
  EXPECT_EQ(tile.box, (Window{48, 64, 5, 7}));
  EXPECT_EQ(tile.firstPlace, 3 * 16 * 64 + 5 * 16);
  EXPECT_EQ(tile.places, 32);
}

TEST(Packing, DigitsThatCountOnAreOne) {
  PackedLayout layout({{0, 64, 2}, {0, 16, 4}, {0, 4, 1}, {1, 1, 8}, {0, 1, 16}}, 128, 8, 8);
  EXPECT_EQ(layout.cuts()[0].units, 8);
  EXPECT_EQ(layout.cuts()[0].unitRows, 16);
}

TEST(Packing, TilesOfNibblesStartAtWholeBytes) {
  PackedLayout odd({{0, 1, 5}, {1, 1, 173}}, 5, 173, 4);
  EXPECT_EQ(odd.cuts()[0].granule, 2);
  EXPECT_EQ(odd.bytesOf(odd.places()), (5 * 173 + 1) / 2);
  for (const LayoutCut &cut : odd.cuts())
    for (int64_t run = 0; run < cut.runs; ++run)
      EXPECT_EQ(odd.tile(cut, run, 0, 1).firstPlace % 2, 0);
}

TEST(Packing, TilesOfPlanesAreWholeBlocks) {
  PackedLayout layout({{0, 16, 3}, {1, 8, 5}, {0, 1, 16}, {1, 1, 8}}, 48, 40, 5);
  EXPECT_EQ(layout.bytesOf(layout.places()), 3 * 5 * 128 * 5 / 8);
  for (const LayoutCut &cut : layout.cuts())
    for (int64_t run = 0; run < cut.runs; ++run)
      EXPECT_EQ(layout.tile(cut, run, 0, 1).firstPlace % 128, 0);
  PackedLayout odd({{0, 1, 5}, {1, 1, 173}}, 5, 173, 6);
  EXPECT_EQ(odd.bytesOf(odd.places()), (5 * 173 + 127) / 128 * 96);
  EXPECT_EQ(odd.cuts().front().granule, 128);
}

TEST(Packing, DigitsOutOfOrderHaveNoBoxesOutsideThem) {
  // Rows of a unit below the first digit would be 0, 4, 8, ...: not a box.
  PackedLayout layout({{0, 1, 4}, {0, 4, 4}, {1, 1, 8}}, 16, 8, 32);
  ASSERT_EQ(layout.cuts().size(), 2u);
  EXPECT_EQ(layout.cuts()[0].depth, 0);
  EXPECT_EQ(layout.cuts()[0].unitPlaces, layout.places());
  EXPECT_EQ(layout.cuts()[1].depth, 3);
}

TEST(Packing, OneElement) {
  PackedLayout layout({{0, 1, 1}, {1, 1, 1}}, 1, 1, 32);
  ASSERT_EQ(layout.cuts().size(), 1u);
  EXPECT_EQ(layout.places(), 1);
}

} // namespace
