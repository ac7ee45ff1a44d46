// SPDX-License-Identifier: Apache-2.0
// How known models want their pictures.
#pragma once

#include "runtime/images/ImageSettings.h"

namespace ingot::test {

using namespace runtime::images;

inline ImageSettings qwen25() {
  ImageSettings settings;
  settings.rule = SizeRule::Smart;
  settings.factor = 28;
  settings.minPixels = 3136;
  settings.maxPixels = 12845056;
  settings.mean = {0.48145466f, 0.4578275f, 0.40821073f};
  settings.std = {0.26862954f, 0.26130258f, 0.27577711f};
  settings.patch = 14;
  settings.mergeRows = settings.mergeColumns = 2;
  settings.window = 112;
  return settings;
}

inline ImageSettings qwen3() {
  ImageSettings settings;
  settings.rule = SizeRule::Smart;
  settings.factor = 32;
  settings.minPixels = 65536;
  settings.maxPixels = 16777216;
  settings.mean = settings.std = {0.5f, 0.5f, 0.5f};
  settings.patch = 16;
  settings.mergeRows = settings.mergeColumns = 2;
  settings.positions = PositionRule::Interpolated;
  settings.positionSide = 48;
  return settings;
}

inline ImageSettings gemma3() {
  ImageSettings settings;
  settings.rule = SizeRule::Stretch;
  settings.filter = Filter::Bilinear;
  settings.width = settings.height = 896;
  settings.mean = settings.std = {0.5f, 0.5f, 0.5f};
  settings.patch = 14;
  settings.mergeRows = settings.mergeColumns = 4;
  settings.positions = PositionRule::Grid;
  settings.positionSide = 64;
  return settings;
}

inline ImageSettings gemma4() {
  ImageSettings settings;
  settings.rule = SizeRule::Budget;
  settings.factor = 48;
  settings.maxTokens = 280;
  settings.patch = 16;
  settings.mergeRows = settings.mergeColumns = 3;
  settings.order = ValueOrder::RowColumnChannel;
  settings.positions = PositionRule::Axes;
  settings.positionSide = 10240;
  return settings;
}

inline ImageSettings smolvlm() {
  ImageSettings settings;
  settings.rule = SizeRule::Tiles;
  settings.filter = Filter::Lanczos;
  settings.longestEdge = 2048;
  settings.tile = 512;
  settings.mean = settings.std = {0.5f, 0.5f, 0.5f};
  settings.patch = 16;
  settings.mergeRows = settings.mergeColumns = 4;
  settings.positions = PositionRule::Grid;
  settings.positionSide = 32;
  return settings;
}

} // namespace ingot::test
