// SPDX-License-Identifier: Apache-2.0
// Sizes in doubles and with the roundings that the models' own preprocessors have.
#include "runtime/images/Geometry.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ingot::runtime::images {
namespace {

constexpr double mostUnequal = 200;
/// Sides of pictures made by rules; far above any model's, and small enough to multiply.
constexpr uint32_t mostSide = 32768;
/// Above this longest edge, preprocessors shrink once more.
constexpr uint32_t mostEdge = 4096;
constexpr uint64_t mostPixels = uint64_t(1) << 27;

Status refuse(std::string what) {
  return Status::error("INGOT-E6806", "image settings: " + std::move(what),
                       "build the engine anew");
}

Status unequal(uint32_t width, uint32_t height) {
  return Status::error("INGOT-E6805",
                       "a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                           " pixels is too narrow for this model",
                       "crop it");
}

struct Size {
  uint32_t width, height;
};

/// Halves go to even, as in Python.
double roundedHalves(double value) { return std::nearbyint(value); }

Result<Size> smartSize(uint32_t width, uint32_t height, const ImageSettings &settings) {
  const double w = width, h = height, factor = settings.factor, frames = settings.frames;
  if (std::max(w, h) / std::min(w, h) > mostUnequal)
    return unequal(width, height);
  double tall = roundedHalves(h / factor) * factor, wide = roundedHalves(w / factor) * factor;
  if (frames * tall * wide > double(settings.maxPixels)) {
    const double beta = std::sqrt(frames * h * w / double(settings.maxPixels));
    tall = std::max(factor, std::floor(h / beta / factor) * factor);
    wide = std::max(factor, std::floor(w / beta / factor) * factor);
  } else if (frames * tall * wide < double(settings.minPixels)) {
    const double beta = std::sqrt(double(settings.minPixels) / (frames * h * w));
    tall = std::ceil(h * beta / factor) * factor;
    wide = std::ceil(w * beta / factor) * factor;
  }
  // Raising a narrow picture to `minPixels` may pass any bound; without one, a side may be nothing.
  if (tall == 0 || wide == 0 || tall > mostSide || wide > mostSide ||
      tall * wide > double(mostPixels))
    return unequal(width, height);
  return Size{uint32_t(wide), uint32_t(tall)};
}

Result<Size> budgetSize(uint32_t width, uint32_t height, const ImageSettings &settings) {
  const double w = width, h = height, side = settings.factor, tokens = settings.maxTokens;
  const double most = tokens * side * side, scale = std::sqrt(most / (h * w));
  double tall = std::floor(scale * h / side) * side, wide = std::floor(scale * w / side) * side;
  if (tall == 0) {
    tall = side;
    wide = std::min(std::floor(w / h), tokens) * side;
  } else if (wide == 0) {
    wide = side;
    tall = std::min(std::floor(h / w), tokens) * side;
  }
  if (tall * wide > most || tall == 0 || wide == 0 || tall > mostSide || wide > mostSide)
    return unequal(width, height);
  return Size{uint32_t(wide), uint32_t(tall)};
}

uint32_t roundedUp(double value, uint32_t multiple) {
  return uint32_t(std::ceil(value / multiple)) * multiple;
}

/// The longest edge as asked for, the other in proportion and even.
Size edgeSize(uint32_t width, uint32_t height, uint32_t longestEdge) {
  const double ratio = double(width) / height;
  uint32_t wide = longestEdge, tall = longestEdge;
  if (width >= height) {
    tall = uint32_t(longestEdge / ratio);
    tall += tall % 2;
  } else {
    wide = uint32_t(longestEdge * ratio);
    wide += wide % 2;
  }
  return {std::max(wide, 1u), std::max(tall, 1u)};
}

/// Up to whole tiles on both sides, the longer one first.
Size tiledSize(Size size, uint32_t tile) {
  const double ratio = double(size.width) / size.height;
  if (size.width >= size.height) {
    const uint32_t wide = roundedUp(size.width, tile);
    return {wide, roundedUp(std::floor(wide / ratio), tile)};
  }
  const uint32_t tall = roundedUp(size.height, tile);
  return {roundedUp(std::floor(tall * ratio), tile), tall};
}

Tile tileOf(uint32_t width, uint32_t height, const ImageSettings &settings) {
  const uint32_t rows = height / settings.patch, columns = width / settings.patch;
  return {rows, columns, rows / settings.mergeRows, columns / settings.mergeColumns};
}

void addTile(PictureLayout &layout, Crop crop, const ImageSettings &settings) {
  layout.rendering.crops.push_back(crop);
  layout.tiles.push_back(tileOf(crop.width, crop.height, settings));
}

PictureLayout wholePicture(Size size, const ImageSettings &settings) {
  PictureLayout layout;
  layout.rendering.scalings = {{0, size.width, size.height, settings.filter}};
  addTile(layout, {1, 0, 0, size.width, size.height}, settings);
  return layout;
}

Result<PictureLayout> tiledPicture(uint32_t width, uint32_t height, const ImageSettings &settings) {
  const uint32_t tile = settings.tile;
  const Size first = edgeSize(width, height, settings.longestEdge), size = tiledSize(first, tile);
  if (size.width == 0 || size.height == 0)
    return unequal(width, height);
  PictureLayout layout;
  // Each is made of the one before, as the models' preprocessors do.
  layout.rendering.scalings = {{0, first.width, first.height, settings.filter},
                               {1, size.width, size.height, settings.filter}};
  const uint32_t rows = size.height / tile, columns = size.width / tile;
  for (uint32_t y = 0; y < rows; ++y)
    for (uint32_t x = 0; x < columns; ++x)
      addTile(layout, {2, x * tile, y * tile, tile, tile}, settings);
  if (rows > 1 || columns > 1) {
    layout.tileRows = rows;
    layout.tileColumns = columns;
    layout.rendering.scalings.push_back({2, tile, tile, settings.filter});
    addTile(layout, {3, 0, 0, tile, tile}, settings);
  }
  return layout;
}

/// Where patch `index` of `count` falls on an axis of a table, between two of its rows.
struct Between {
  uint32_t row, next;
  float weight, nextWeight;
};

Between interpolated(uint32_t index, uint32_t count, uint32_t side) {
  const float at = float(index) * float(side - 1) / float(std::max(count, 2u) - 1);
  const float below = std::floor(at), distance = at - below;
  const auto row = uint32_t(below);
  return {row, std::min(row + 1, side - 1), 1 - distance, 1 - std::abs(distance - 1)};
}

void addPositions(PatchOrder &order, const Tile &tile, const ImageSettings &settings) {
  const uint32_t side = settings.positionSide;
  for (const auto [y, x] : order.places)
    switch (settings.positions) {
    case PositionRule::None:
      return;
    case PositionRule::Grid:
      order.positionsEach = 1;
      order.positionRows.push_back(int32_t(std::min(y, side - 1) * side + std::min(x, side - 1)));
      break;
    case PositionRule::Axes:
      order.positionsEach = 2;
      order.positionRows.push_back(int32_t(std::min(x, side - 1)));
      order.positionRows.push_back(int32_t(side + std::min(y, side - 1)));
      break;
    case PositionRule::Interpolated: {
      order.positionsEach = 4;
      const Between row = interpolated(y, tile.rows, side);
      const Between column = interpolated(x, tile.columns, side);
      for (const auto &[v, vWeight] : {std::pair(row.row, row.weight), {row.next, row.nextWeight}})
        for (const auto &[u, uWeight] :
             {std::pair(column.row, column.weight), {column.next, column.nextWeight}}) {
          order.positionRows.push_back(int32_t(v * side + u));
          order.positionWeights.push_back(vWeight * uWeight);
        }
      break;
    }
    }
}

} // namespace

Status checkSettings(const ImageSettings &settings) {
  if (settings.patch == 0 || settings.patch > 256 || settings.mergeRows == 0 ||
      settings.mergeRows > 64 || settings.mergeColumns == 0 || settings.mergeColumns > 64)
    return refuse("patches have no size, or too large a one");
  const uint32_t rows = settings.patch * settings.mergeRows;
  const uint32_t columns = settings.patch * settings.mergeColumns;
  const auto fits = [&](uint32_t width, uint32_t height) {
    return width > 0 && height > 0 && width <= mostSide && height <= mostSide &&
           uint64_t(width) * height <= mostPixels && width % columns == 0 && height % rows == 0;
  };
  for (size_t i = 0; i < 3; ++i)
    if (!std::isfinite(settings.mean[i]) || !std::isfinite(settings.std[i]) ||
        !(std::abs(settings.std[i]) >= 1e-6f))
      return refuse("mean or std is no number to normalise by");
  if (settings.filter > Filter::Lanczos || settings.order > ValueOrder::RowColumnChannel)
    return refuse("the filter or the order of values is not known");
  if (settings.positions > PositionRule::Axes ||
      (settings.positions != PositionRule::None &&
       (settings.positionSide == 0 || settings.positionSide > 16384)))
    return refuse("the table of positions has no size, or too large a one");
  if (settings.window != 0 &&
      (settings.window > mostSide || settings.window % rows != 0 || settings.window % columns != 0))
    return refuse("windows are of no whole rows of patches");
  switch (settings.rule) {
  case SizeRule::Smart:
    if (!fits(settings.factor, settings.factor) || settings.frames == 0 || settings.frames > 16 ||
        settings.maxPixels == 0 || settings.maxPixels > mostPixels ||
        settings.minPixels > settings.maxPixels)
      return refuse("factor, min_pixels or max_pixels make no size");
    return Status::success();
  case SizeRule::Stretch:
    return fits(settings.width, settings.height) ? Status::success()
                                                 : refuse("width or height make no patches");
  case SizeRule::Budget:
    if (!fits(settings.factor, settings.factor) || settings.maxTokens == 0 ||
        uint64_t(settings.maxTokens) * settings.factor * settings.factor > mostPixels)
      return refuse("factor or max_tokens make no size");
    return Status::success();
  case SizeRule::Tiles: {
    // The shorter side is made even, and may so pass the longer by one.
    const uint64_t tiles = settings.tile ? settings.longestEdge / settings.tile + 1 : 0;
    if (!fits(settings.tile, settings.tile) || settings.longestEdge == 0 ||
        settings.longestEdge > mostEdge || tiles * tiles + 1 > mostCrops ||
        tiles * tiles * settings.tile * settings.tile > mostPixels)
      return refuse("tile or longest_edge make no tiles, or too many");
    return Status::success();
  }
  }
  return refuse("the rule of sizes is not known");
}

uint64_t PictureLayout::tokens() const {
  uint64_t sum = 0;
  for (const Tile &tile : tiles)
    sum += tile.tokens();
  return sum;
}

uint64_t PictureLayout::patches() const {
  uint64_t sum = 0;
  for (const Tile &tile : tiles)
    sum += tile.patches();
  return sum;
}

Result<PictureLayout> layOut(uint32_t width, uint32_t height, const ImageSettings &settings) {
  if (width == 0 || height == 0)
    return unequal(width, height);
  if (settings.rule == SizeRule::Tiles)
    return tiledPicture(width, height, settings);
  if (settings.rule == SizeRule::Stretch)
    return wholePicture({settings.width, settings.height}, settings);
  const Result<Size> size = settings.rule == SizeRule::Smart ? smartSize(width, height, settings)
                                                             : budgetSize(width, height, settings);
  if (!size.ok())
    return size.status();
  return wholePicture(*size, settings);
}

PatchOrder orderPatches(const Tile &tile, const ImageSettings &settings) {
  PatchOrder order;
  order.places.reserve(tile.patches());
  order.rowOfToken.resize(tile.tokens());
  uint32_t row = 0;
  const auto addToken = [&](uint32_t y, uint32_t x) {
    for (uint32_t v = 0; v < settings.mergeRows; ++v)
      for (uint32_t u = 0; u < settings.mergeColumns; ++u)
        order.places.push_back({y * settings.mergeRows + v, x * settings.mergeColumns + u});
    order.rowOfToken[size_t(y) * tile.tokenColumns + x] = row++;
  };
  // Without windows all tokens are in one.
  uint32_t tall = std::max(tile.tokenRows, 1u), wide = std::max(tile.tokenColumns, 1u);
  if (settings.window != 0) {
    tall = settings.window / (settings.patch * settings.mergeRows);
    wide = settings.window / (settings.patch * settings.mergeColumns);
    order.windowOffsets.push_back(0);
  }
  for (uint32_t top = 0; top < tile.tokenRows; top += tall)
    for (uint32_t left = 0; left < tile.tokenColumns; left += wide) {
      for (uint32_t y = top; y < std::min(tile.tokenRows, top + tall); ++y)
        for (uint32_t x = left; x < std::min(tile.tokenColumns, left + wide); ++x)
          addToken(y, x);
      if (settings.window != 0)
        order.windowOffsets.push_back(uint32_t(order.places.size()));
    }
  addPositions(order, tile, settings);
  return order;
}

} // namespace ingot::runtime::images
