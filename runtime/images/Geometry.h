// SPDX-License-Identifier: Apache-2.0
// From the size of a picture to what is made of it: resized pictures, tiles, patches, tokens.
#pragma once

#include "runtime/images/ImageSettings.h"
#include "runtime/images/Rendering.h"

#include <vector>

namespace ingot::runtime::images {

/// One sequence of patches that see each other: a picture, or a tile of it.
struct Tile {
  uint32_t rows = 0, columns = 0;           ///< patches
  uint32_t tokenRows = 0, tokenColumns = 0; ///< rows of the encoder's result

  uint64_t tokens() const { return uint64_t(tokenRows) * tokenColumns; }
  uint64_t patches() const { return uint64_t(rows) * columns; }
};

/// What is made of one picture.
struct PictureLayout {
  Rendering rendering;                    ///< crop i holds the pixels of tile i
  std::vector<Tile> tiles;                ///< row by row, then the whole picture if it was cut
  uint32_t tileRows = 0, tileColumns = 0; ///< 0 where the picture was not cut

  uint64_t tokens() const;
  uint64_t patches() const;
};

/// The layout of a picture of this size. INGOT-E6805: its sides are too unequal. `settings` have
/// passed `checkSettings`.
Result<PictureLayout> layOut(uint32_t width, uint32_t height, const ImageSettings &settings);

struct PatchPlace {
  uint32_t y = 0, x = 0; ///< on the grid of the tile

  bool operator==(const PatchPlace &) const = default;
};

/// The patches of a tile in the order in which the encoder takes them: those that make one row
/// stand together, rows of a window follow each other.
struct PatchOrder {
  std::vector<PatchPlace> places;      ///< [patches]
  std::vector<uint32_t> windowOffsets; ///< [windows + 1], in patches; empty without windows
  std::vector<uint32_t> rowOfToken;    ///< [tokens], from the order of tokens, row by row
  uint32_t positionsEach = 0;          ///< k: 0, 1, 2 or 4
  std::vector<int32_t> positionRows;   ///< [patches * k]
  std::vector<float> positionWeights;  ///< [patches * 4] where interpolated, else empty
};

PatchOrder orderPatches(const Tile &tile, const ImageSettings &settings);

} // namespace ingot::runtime::images
