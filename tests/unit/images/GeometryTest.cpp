// SPDX-License-Identifier: Apache-2.0
// Sizes by the functions of transformers 5.24, token counts that models are known for, and orders
// against plain definitions.
#include "runtime/images/Geometry.h"
#include "tests/unit/images/ModelSettings.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace ingot::runtime::images {
namespace {

using namespace test;

struct Sides {
  uint32_t width, height;

  bool operator==(const Sides &) const = default;
};

void PrintTo(const Sides &sides, std::ostream *out) {
  *out << sides.width << " x " << sides.height;
}

/// What `scaling` of the layout makes; 0 x 0 where there is none.
Sides sizeOf(uint32_t width, uint32_t height, const ImageSettings &settings, size_t scaling = 0) {
  const Result<PictureLayout> layout = layOut(width, height, settings);
  if (!layout.ok()) {
    EXPECT_EQ(layout.status().code(), "INGOT-E6805");
    return {0, 0};
  }
  const Scaling &made = layout->rendering.scalings.at(scaling);
  return {made.width, made.height};
}

struct SizeCase {
  uint32_t width, height;
  Sides qwen25, qwen3, gemma4, smolFirst, smolTiled;
};

/// 0 x 0: an error. The last two are one after the other.
const SizeCase sizeCases[] = {
    {1, 1, {56, 56}, {256, 256}, {768, 768}, {2048, 2048}, {2048, 2048}},
    {126, 126, {112, 112}, {256, 256}, {768, 768}, {2048, 2048}, {2048, 2048}},
    {70, 42, {56, 56}, {352, 224}, {1008, 576}, {2048, 1228}, {2048, 1536}},
    {10, 10, {56, 56}, {256, 256}, {768, 768}, {2048, 2048}, {2048, 2048}},
    {3, 550, {28, 784}, {32, 3488}, {48, 10848}, {12, 2048}, {512, 2048}},
    {1920, 1080, {1932, 1092}, {1920, 1088}, {1056, 576}, {2048, 1152}, {2048, 1536}},
    {4000, 3000, {4004, 2996}, {4000, 3008}, {912, 672}, {2048, 1536}, {2048, 1536}},
    {8000, 41, {8008, 28}, {8000, 32}, {11184, 48}, {2048, 10}, {2048, 512}},
    {200, 1, {812, 28}, {3648, 32}, {11328, 48}, {2048, 10}, {2048, 512}},
    {1, 200, {28, 812}, {32, 3648}, {48, 11328}, {10, 2048}, {512, 2048}},
    {14, 14, {56, 56}, {256, 256}, {768, 768}, {2048, 2048}, {2048, 2048}},
    {42, 98, {56, 112}, {192, 416}, {480, 1200}, {878, 2048}, {1024, 2048}},
    {2048, 2047, {2044, 2044}, {2048, 2048}, {768, 768}, {2048, 2048}, {2048, 2048}},
    {999, 1001, {1008, 1008}, {992, 992}, {768, 768}, {2044, 2048}, {2048, 2048}},
    {2653, 1236, {2660, 1232}, {2656, 1248}, {1152, 528}, {2048, 954}, {2048, 1024}},
    {3235, 396, {3248, 392}, {3232, 384}, {2256, 240}, {2048, 250}, {2048, 512}},
    {594, 4390, {588, 4396}, {608, 4384}, {288, 2160}, {278, 2048}, {512, 2048}},
    {772, 2996, {784, 2996}, {768, 3008}, {384, 1536}, {528, 2048}, {1024, 2048}},
    {4775, 476, {4788, 476}, {4768, 480}, {2496, 240}, {2048, 204}, {2048, 512}},
    {4157, 1759, {4144, 1764}, {4160, 1760}, {1200, 480}, {2048, 866}, {2048, 1024}},
    {308, 705, {308, 700}, {320, 704}, {528, 1200}, {894, 2048}, {1024, 2048}},
    {3553, 3426, {3556, 3416}, {3552, 3424}, {816, 768}, {2048, 1974}, {2048, 2048}},
    {573, 1972, {560, 1960}, {576, 1984}, {432, 1488}, {596, 2048}, {1024, 2048}},
    {744, 4515, {756, 4508}, {736, 4512}, {288, 1968}, {338, 2048}, {512, 2048}},
    {3478, 485, {3472, 476}, {3488, 480}, {2112, 288}, {2048, 286}, {2048, 512}},
    {4633, 1015, {4620, 1008}, {4640, 1024}, {1680, 336}, {2048, 448}, {2048, 512}}};

TEST(Geometry, SizesAreThoseOfTransformers) {
  for (const SizeCase &row : sizeCases) {
    SCOPED_TRACE(std::to_string(row.width) + " x " + std::to_string(row.height));
    EXPECT_EQ(sizeOf(row.width, row.height, qwen25()), row.qwen25);
    EXPECT_EQ(sizeOf(row.width, row.height, qwen3()), row.qwen3);
    EXPECT_EQ(sizeOf(row.width, row.height, gemma4()), row.gemma4);
    EXPECT_EQ(sizeOf(row.width, row.height, smolvlm(), 0), row.smolFirst);
    EXPECT_EQ(sizeOf(row.width, row.height, smolvlm(), 1), row.smolTiled);
  }
}

TEST(Geometry, TokensOfKnownModels) {
  struct {
    const char *name;
    ImageSettings settings;
    uint64_t tokens[3];
  } const models[] = {{"qwen2_5_vl", qwen25(), {1369, 2691, 77}},
                      {"qwen3_vl", qwen3(), {1024, 2040, 70}},
                      {"gemma3", gemma3(), {256, 256, 256}},
                      {"gemma4", gemma4(), {256, 264, 260}},
                      {"smolvlm", smolvlm(), {1088, 832, 832}}};
  const Sides pictures[] = {{1024, 1024}, {1920, 1080}, {300, 200}};
  for (const auto &[name, settings, tokens] : models) {
    ASSERT_TRUE(checkSettings(settings).ok()) << checkSettings(settings).toString();
    for (size_t i = 0; i < 3; ++i) {
      const Result<PictureLayout> layout = layOut(pictures[i].width, pictures[i].height, settings);
      ASSERT_TRUE(layout.ok()) << layout.status().toString();
      EXPECT_EQ(layout->tokens(), tokens[i]) << name << ", picture " << i;
      EXPECT_EQ(layout->patches(), tokens[i] * settings.mergedPatches());
      EXPECT_TRUE(renderedBytes(layout->rendering, pictures[i].width, pictures[i].height).ok());
    }
  }
}

TEST(Geometry, TilesGoRowByRowAndTheWholeIsLast) {
  const Result<PictureLayout> layout = layOut(1920, 1080, smolvlm());
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->tileRows, 3u);
  EXPECT_EQ(layout->tileColumns, 4u);
  ASSERT_EQ(layout->tiles.size(), 13u);
  const std::vector<Crop> &crops = layout->rendering.crops;
  EXPECT_EQ(crops[5].source, 2u);
  EXPECT_EQ(crops[5].x, 512u);
  EXPECT_EQ(crops[5].y, 512u);
  EXPECT_EQ(crops[12].source, 3u);
  EXPECT_EQ(layout->rendering.scalings[2].source, 2u);
  EXPECT_EQ(layout->rendering.scalings[2].width, 512u);

  ImageSettings one = smolvlm();
  one.longestEdge = one.tile = 512;
  const Result<PictureLayout> small = layOut(30, 20, one);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->tiles.size(), 1u);
  EXPECT_EQ(small->tileRows, 0u);
}

TEST(Geometry, NarrowPicturesAreErrors) {
  for (const auto [width, height] : {Sides{201, 1}, Sides{1, 201}, Sides{0, 4}, Sides{4, 0}})
    EXPECT_EQ(layOut(width, height, qwen3()).status().code(), "INGOT-E6805");
  EXPECT_TRUE(layOut(200, 1, qwen3()).ok());
}

TEST(Geometry, HostileSettingsAreErrors) {
  const std::vector<void (*)(ImageSettings &)> faults = {
      [](ImageSettings &s) { s.patch = 0; },
      [](ImageSettings &s) { s.patch = 1000; },
      [](ImageSettings &s) { s.mergeRows = 0; },
      [](ImageSettings &s) { s.mergeColumns = 65; },
      [](ImageSettings &s) { s.mergeColumns = 3; },
      [](ImageSettings &s) { s.std[1] = 0; },
      [](ImageSettings &s) { s.mean[2] = std::numeric_limits<float>::quiet_NaN(); },
      [](ImageSettings &s) { s.filter = Filter(3); },
      [](ImageSettings &s) { s.order = ValueOrder(2); },
      [](ImageSettings &s) { s.positions = PositionRule(4); },
      [](ImageSettings &s) { s.positionSide = 0; },
      [](ImageSettings &s) { s.positionSide = 1u << 31; },
      [](ImageSettings &s) { s.window = 113; },
      [](ImageSettings &s) { s.rule = SizeRule(4); },
      [](ImageSettings &s) { s.factor = 0; },
      [](ImageSettings &s) { s.factor = 31; },
      [](ImageSettings &s) { s.frames = 0; },
      [](ImageSettings &s) { s.maxPixels = 0; },
      [](ImageSettings &s) { s.maxPixels = uint64_t(1) << 63; },
      [](ImageSettings &s) { s.minPixels = s.maxPixels + 1; },
      [](ImageSettings &s) { s.rule = SizeRule::Stretch; },
      [](ImageSettings &s) {
        s.rule = SizeRule::Stretch;
        s.width = s.height = 1u << 31;
      },
      [](ImageSettings &s) { s.rule = SizeRule::Budget; },
      [](ImageSettings &s) {
        s.rule = SizeRule::Budget;
        s.maxTokens = ~0u;
      },
      [](ImageSettings &s) { s.rule = SizeRule::Tiles; },
      [](ImageSettings &s) {
        s.rule = SizeRule::Tiles;
        s.tile = 32;
        s.longestEdge = 4096;
      },
      [](ImageSettings &s) {
        s.rule = SizeRule::Tiles;
        s.tile = 512;
        s.longestEdge = 8192;
      }};
  ASSERT_TRUE(checkSettings(qwen3()).ok());
  for (size_t i = 0; i < faults.size(); ++i) {
    ImageSettings settings = qwen3();
    faults[i](settings);
    EXPECT_EQ(checkSettings(settings).code(), "INGOT-E6806") << "fault " << i;
  }
}

void expectWhole(uint32_t width, uint32_t height, const ImageSettings &settings) {
  const Result<PictureLayout> layout = layOut(width, height, settings);
  if (!layout.ok()) {
    ASSERT_EQ(layout.status().code(), "INGOT-E6805");
    return;
  }
  const Result<uint64_t> bytes = renderedBytes(layout->rendering, width, height);
  ASSERT_TRUE(bytes.ok()) << bytes.status().toString() << ", " << width << " x " << height;
  ASSERT_EQ(layout->tiles.size(), layout->rendering.crops.size());
  for (size_t i = 0; i < layout->tiles.size(); ++i) {
    const Tile &tile = layout->tiles[i];
    const Crop &crop = layout->rendering.crops[i];
    ASSERT_EQ(tile.rows * settings.patch, crop.height);
    ASSERT_EQ(tile.columns * settings.patch, crop.width);
    ASSERT_EQ(tile.tokenRows * settings.mergeRows, tile.rows);
    ASSERT_EQ(tile.tokenColumns * settings.mergeColumns, tile.columns);
    ASSERT_GT(tile.tokens(), 0u);
  }
}

/// Whatever the picture, what known settings make is whole patches and can be rendered.
TEST(Geometry, AllSizesCanBeRendered) {
  for (const ImageSettings &settings : {qwen25(), qwen3(), gemma3(), gemma4(), smolvlm()})
    for (uint32_t width = 1; width <= 16384; width = width * 3 / 2 + 1)
      for (uint32_t height = 1; height <= 16384; height = height * 3 / 2 + 1)
        ASSERT_NO_FATAL_FAILURE(expectWhole(width, height, settings));
}

/// So is what any settings make that pass the check.
TEST(Geometry, SettingsThatPassCanBeRendered) {
  std::mt19937 random(59);
  const auto below = [&](uint32_t most) { return random() % most; };
  // Numbers of any magnitude.
  const auto any = [&](uint32_t bits) { return random() >> (32 - 1 - below(bits)); };
  size_t passed[4] = {};
  for (int i = 0; i < 50'000; ++i) {
    ImageSettings settings;
    settings.rule = SizeRule(below(4));
    settings.patch = 1 + any(6);
    settings.mergeRows = 1 + below(4);
    settings.mergeColumns = below(2) ? settings.mergeRows : 1 + below(4);
    const uint32_t whole = settings.patch * settings.mergeRows * settings.mergeColumns;
    settings.factor = whole * any(6);
    settings.minPixels = any(28);
    settings.maxPixels = settings.minPixels + any(28);
    settings.frames = 1 + below(2);
    settings.width = whole * any(10);
    settings.height = whole * any(10);
    settings.maxTokens = any(20);
    settings.tile = whole * any(6);
    settings.longestEdge = any(13);
    if (!checkSettings(settings).ok())
      continue;
    ++passed[size_t(settings.rule)];
    for (int k = 0; k < 4; ++k)
      ASSERT_NO_FATAL_FAILURE(expectWhole(1 + any(14), 1 + any(14), settings));
  }
  for (const size_t count : passed)
    EXPECT_GT(count, 500u);
}

/// By the definition: tokens by windows, the windows and their tokens row by row.
TEST(Geometry, WindowsAreRaggedAtTheEdges) {
  const ImageSettings settings = qwen25(); // windows of 4 x 4 tokens
  const Tile tile{12, 18, 6, 9};
  const PatchOrder order = orderPatches(tile, settings);
  EXPECT_EQ(order.windowOffsets, (std::vector<uint32_t>{0, 64, 128, 144, 176, 208, 216}));
  ASSERT_EQ(order.places.size(), 216u);
  ASSERT_EQ(order.rowOfToken.size(), 54u);
  std::vector<std::array<uint32_t, 5>> expected; // window, then place
  for (uint32_t y = 0; y < 6; ++y)
    for (uint32_t x = 0; x < 9; ++x)
      expected.push_back({(y / 4) * 3 + x / 4, y, x, 0, 0});
  std::sort(expected.begin(), expected.end());
  for (uint32_t row = 0; row < 54; ++row) {
    const auto [window, y, x, unused, also] = expected[row];
    EXPECT_EQ(order.rowOfToken[y * 9 + x], row);
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(order.places[row * 4 + i], (PatchPlace{y * 2 + i / 2, x * 2 + i % 2}));
    EXPECT_GE(row * 4, order.windowOffsets[window]);
    EXPECT_LT(row * 4, order.windowOffsets[window + 1]);
  }
}

TEST(Geometry, WithoutWindowsRowsAreTokens) {
  const Tile tile{6, 4, 2, 2};
  ImageSettings settings = gemma3();
  settings.mergeRows = 3;
  settings.mergeColumns = 2;
  const PatchOrder order = orderPatches(tile, settings);
  EXPECT_TRUE(order.windowOffsets.empty());
  EXPECT_EQ(order.rowOfToken, (std::vector<uint32_t>{0, 1, 2, 3}));
  const std::vector<PatchPlace> first(order.places.begin(), order.places.begin() + 8);
  EXPECT_EQ(first, (std::vector<PatchPlace>{
                       {0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {0, 2}, {0, 3}}));
}

TEST(Geometry, PositionsOfTables) {
  ImageSettings settings = gemma3();
  settings.mergeRows = settings.mergeColumns = 1;
  settings.positionSide = 5;
  PatchOrder order = orderPatches({2, 3, 2, 3}, settings);
  EXPECT_EQ(order.positionsEach, 1u);
  EXPECT_EQ(order.positionRows, (std::vector<int32_t>{0, 1, 2, 5, 6, 7}));
  settings.positions = PositionRule::Axes;
  order = orderPatches({2, 3, 2, 3}, settings);
  EXPECT_EQ(order.positionsEach, 2u);
  EXPECT_EQ(order.positionRows, (std::vector<int32_t>{0, 5, 1, 5, 2, 5, 0, 6, 1, 6, 2, 6}));
  settings.positions = PositionRule::None;
  EXPECT_TRUE(orderPatches({2, 3, 2, 3}, settings).positionRows.empty());
}

/// A table of a plane y * 100 + x, interpolated, gives the places that corners make of a grid.
TEST(Geometry, InterpolatedPositionsReachFromCornerToCorner) {
  ImageSettings settings = qwen3();
  settings.positionSide = 48;
  for (const auto [rows, columns] : {Sides{2, 2}, Sides{68, 120}, Sides{48, 48}, Sides{10, 94}}) {
    const Tile tile{rows, columns, rows / 2, columns / 2};
    const PatchOrder order = orderPatches(tile, settings);
    ASSERT_EQ(order.positionsEach, 4u);
    ASSERT_EQ(order.positionRows.size(), tile.patches() * 4);
    ASSERT_EQ(order.positionWeights.size(), tile.patches() * 4);
    for (size_t i = 0; i < order.places.size(); ++i) {
      double y = 0, x = 0, sum = 0;
      for (size_t k = i * 4; k < i * 4 + 4; ++k) {
        ASSERT_GE(order.positionRows[k], 0);
        ASSERT_LT(order.positionRows[k], 48 * 48);
        y += double(order.positionWeights[k]) * (order.positionRows[k] / 48);
        x += double(order.positionWeights[k]) * (order.positionRows[k] % 48);
        sum += double(order.positionWeights[k]);
      }
      EXPECT_NEAR(sum, 1, 1e-6);
      EXPECT_NEAR(y, 47.0 * order.places[i].y / (rows - 1), 1e-4);
      EXPECT_NEAR(x, 47.0 * order.places[i].x / (columns - 1), 1e-4);
    }
  }
  // One row of patches takes the first of the table.
  settings.mergeRows = settings.mergeColumns = 1;
  const PatchOrder line = orderPatches({1, 3, 1, 3}, settings);
  EXPECT_EQ(line.positionRows[0], 0);
  EXPECT_EQ(line.positionWeights[0], 1.0f);
}

} // namespace
} // namespace ingot::runtime::images
