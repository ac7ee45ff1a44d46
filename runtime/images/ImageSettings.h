// SPDX-License-Identifier: Apache-2.0
// How a model wants its pictures, as plain numbers; engines carry them.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/images/Resize.h"

#include <array>
#include <cstdint>

namespace ingot::runtime::images {

/// Which size a picture is resized to.
enum class SizeRule : uint32_t {
  Smart,   ///< multiples of `factor`, near the picture's, within `minPixels` to `maxPixels`
  Stretch, ///< `width` x `height`
  Budget,  ///< the largest multiples of `factor` that make at most `maxTokens`
  Tiles    ///< `longestEdge`, up to multiples of `tile`, cut into tiles; the whole as last tile
};

/// Order of the values of a patch.
enum class ValueOrder : uint32_t { ChannelRowColumn, RowColumnChannel };

/// Rows of learned position tables that a patch takes.
enum class PositionRule : uint32_t {
  None,
  Grid,         ///< one: y * side + x
  Interpolated, ///< four with weights: bilinear between the corners of the table
  Axes          ///< two: x, and side + y
};

struct ImageSettings {
  SizeRule rule = SizeRule::Stretch;
  Filter filter = Filter::Bicubic;
  uint32_t factor = 0;                      ///< Smart, Budget; in pixels
  uint64_t minPixels = 0, maxPixels = 0;    ///< Smart
  uint32_t frames = 1;                      ///< Smart: as often a picture's pixels count
  uint32_t width = 0, height = 0;           ///< Stretch
  uint32_t maxTokens = 0;                   ///< Budget
  uint32_t longestEdge = 0, tile = 0;       ///< Tiles; in pixels
  std::array<float, 3> mean = {0, 0, 0};    ///< of values from 0 to 1
  std::array<float, 3> std = {1, 1, 1};     ///< likewise
  uint32_t patch = 0;                       ///< side of a patch, in pixels
  uint32_t mergeRows = 1, mergeColumns = 1; ///< patches that make one row of the result
  ValueOrder order = ValueOrder::ChannelRowColumn;
  uint32_t window = 0; ///< side of attention windows in pixels, whole merged patches; 0: none
  PositionRule positions = PositionRule::None;
  uint32_t positionSide = 0; ///< of the table, in patches

  bool operator==(const ImageSettings &) const = default;
  uint32_t patchValues() const { return 3 * patch * patch; }
  uint32_t mergedPatches() const { return mergeRows * mergeColumns; }
};

/// INGOT-E6806 for settings that no picture can be laid out by, or only without bound.
Status checkSettings(const ImageSettings &settings);

} // namespace ingot::runtime::images
