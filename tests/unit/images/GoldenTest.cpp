// SPDX-License-Identifier: Apache-2.0
// The pixels that four models' preprocessors make, by Pillow's resizing bit for bit, from the files
// to the values.
#include "runtime/core/Sha256.h"
#include "runtime/images/Patches.h"
#include "runtime/images/decode/PictureFile.h"
#include "tests/unit/images/ModelSettings.h"
#include "tests/unit/images/SmallPictures.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ingot::runtime::images {
namespace {

using namespace test;
using Json = nlohmann::json;

const std::filesystem::path shared = std::filesystem::path(INGOT_SHARED_DIR) / "data/vision";

Bytes readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The settings of the small models, whose processors have smaller sizes.
ImageSettings smallModel(const std::string &name) {
  ImageSettings settings;
  if (name == "qwen2_5_vl") {
    settings = qwen25();
    settings.minPixels = 6272;
    settings.maxPixels = 50176;
    settings.window = 0; // processors know none
  } else if (name == "qwen3_vl") {
    settings = qwen3();
    settings.minPixels = 12288;
    settings.maxPixels = 65536;
  } else if (name == "gemma3") {
    settings = gemma3();
    settings.width = settings.height = 84;
    settings.mergeRows = settings.mergeColumns = 2;
  } else {
    settings = smolvlm();
    settings.longestEdge = 288;
    settings.tile = 96;
    settings.mergeRows = settings.mergeColumns = 3;
  }
  return settings;
}

/// As processors in numpy have it: by way of doubles.
ValueTable valuesByDoubles(const ImageSettings &settings) {
  ValueTable table;
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t value = 0; value < 256; ++value)
      table[channel][value] =
          (float(double(value) * 0.00392156862745098) - settings.mean[channel]) /
          settings.std[channel];
  return table;
}

/// As Pillow 13, which goes vertically first where the height shrinks by more than twice as many
/// pixels as the width: found by comparing 400 sizes.
Pixels resizeByPillow(const Pixels &from, const Scaling &to) {
  const int64_t shorter = int64_t(from.height) - to.height,
                narrower = int64_t(from.width) - to.width;
  if (shorter <= 0 || shorter <= 2 * narrower)
    return resize(from, to.width, to.height, to.filter);
  return resize(resize(from, from.width, to.height, to.filter), to.width, to.height, to.filter);
}

using Resizing = Pixels (*)(const Pixels &, const Scaling &);

Pixels cropOf(const Pixels &from, const Crop &crop) {
  Pixels result{crop.width, crop.height, {}};
  for (uint32_t y = crop.y; y < crop.y + crop.height; ++y) {
    const auto row = from.rgb.begin() + (size_t(y) * from.width + crop.x) * 3;
    result.rgb.insert(result.rgb.end(), row, row + size_t(crop.width) * 3);
  }
  return result;
}

/// Ours in the processor's order: with planes [3, height, width] of a tile, or patches with each
/// channel twice.
void append(std::vector<float> &values, const std::vector<float> &patches, const PatchOrder &order,
            const Tile &tile, const ImageSettings &settings, bool planes) {
  const size_t side = settings.patch, area = side * side;
  if (!planes) {
    for (size_t i = 0; i < patches.size(); i += area)
      for (int slice = 0; slice < 2; ++slice)
        values.insert(values.end(), patches.begin() + i, patches.begin() + i + area);
    return;
  }
  const size_t width = tile.columns * side, height = tile.rows * side, begin = values.size();
  values.resize(begin + 3 * width * height);
  for (size_t i = 0; i < order.places.size(); ++i)
    for (size_t k = 0; k < area * 3; ++k) {
      const size_t channel = k / area, y = order.places[i].y * side + k % area / side,
                   x = order.places[i].x * side + k % side;
      values[begin + (channel * height + y) * width + x] = patches[i * area * 3 + k];
    }
}

struct Made {
  std::vector<float> values;
  uint64_t tokens = 0;
  std::vector<Tile> tiles;
};

Made makeValues(const std::string &model, const Json &images, const ValueTable &table,
                Resizing resizing) {
  const ImageSettings settings = smallModel(model);
  EXPECT_TRUE(checkSettings(settings).ok());
  Made made;
  for (const std::string name : images) {
    const Bytes bytes = readFile(shared / "images" / name);
    const Result<PictureHeader> header = readHeader(bytes, {});
    EXPECT_TRUE(header.ok()) << header.status().toString();
    Result<Pixels> picture = decodePicture(bytes, *header);
    EXPECT_TRUE(picture.ok()) << picture.status().toString();
    const Result<PictureLayout> layout = layOut(picture->width, picture->height, settings);
    EXPECT_TRUE(layout.ok()) << layout.status().toString();
    std::vector<Pixels> sizes = {*std::move(picture)};
    for (const Scaling &scaling : layout->rendering.scalings)
      sizes.push_back(resizing(sizes[scaling.source], scaling));
    for (size_t i = 0; i < layout->tiles.size(); ++i) {
      const Tile &tile = layout->tiles[i];
      const Crop &crop = layout->rendering.crops[i];
      const PatchOrder order = orderPatches(tile, settings);
      std::vector<float> patches(tile.patches() * settings.patchValues());
      writePatches(cropOf(sizes[crop.source], crop), order, settings, table, patches.data());
      append(made.values, patches, order, tile, settings, !model.starts_with("qwen"));
      made.tiles.push_back(tile);
    }
    made.tokens += layout->tokens();
  }
  return made;
}

class ImageGolden : public testing::Test {
protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared))
      GTEST_SKIP() << "no shared test data at " << shared;
    const Bytes text = readFile(shared / "goldens.json");
    goldens = Json::parse(text.begin(), text.end());
    ASSERT_EQ(goldens.size(), 4u);
  }

  Json goldens;
};

TEST_F(ImageGolden, ValuesArePillowsBitForBit) {
  for (const auto &[model, golden] : goldens.items())
    for (const auto &[name, one] : golden["cases"].items()) {
      SCOPED_TRACE(model + ", " + name);
      const Made made =
          makeValues(model, one["images"], valuesByDoubles(smallModel(model)), resizeByPillow);
      size_t expected = 1;
      for (const size_t side : one["pillow"]["shape"])
        expected *= side;
      ASSERT_EQ(made.values.size(), expected);
      EXPECT_EQ(toHex(sha256(made.values.data(), made.values.size() * sizeof(float))),
                one["pillow"]["sha256"].get<std::string>());
      EXPECT_EQ(made.tokens, one["image_features"]["shape"][0].get<uint64_t>());
      if (!one["pixel_values"].contains("image_grid_thw"))
        continue;
      const Json &grids = one["pixel_values"]["image_grid_thw"]["values"];
      ASSERT_EQ(grids.size(), made.tiles.size() * 3);
      for (size_t i = 0; i < made.tiles.size(); ++i) {
        EXPECT_EQ(made.tiles[i].rows, grids[i * 3 + 1].get<uint32_t>());
        EXPECT_EQ(made.tiles[i].columns, grids[i * 3 + 2].get<uint32_t>());
      }
    }
}

/// torchvision's pixels are at most 2 of 255 apart; where they are equal, so are the values.
TEST_F(ImageGolden, ValuesAreTorchvisionsWherePixelsAre) {
  size_t equal = 0, all = 0;
  for (const auto &[model, golden] : goldens.items())
    for (const auto &[name, one] : golden["cases"].items()) {
      SCOPED_TRACE(model + ", " + name);
      const ImageSettings settings = smallModel(model);
      const Made made = makeValues(model, one["images"], normalisedValues(settings),
                                   [](const Pixels &from, const Scaling &to) {
                                     return resize(from, to.width, to.height, to.filter);
                                   });
      const float step = 1 / (255 * settings.std[0]);
      const std::vector<float> first = one["pixel_values"]["pixel_values"]["first"];
      for (size_t i = 0; i < first.size(); ++i, ++all) {
        const float difference = std::abs(made.values.at(i) - first[i]);
        EXPECT_LE(difference, 2.1f * step) << i;
        if (difference < step / 2) {
          EXPECT_LE(difference, std::abs(first[i]) * 3e-7f) << i;
          ++equal;
        }
      }
    }
  EXPECT_GT(equal, all * 9 / 10);
}

} // namespace
} // namespace ingot::runtime::images
