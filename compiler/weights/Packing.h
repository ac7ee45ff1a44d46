// SPDX-License-Identifier: Apache-2.0
// Packing: the one packer for every layout. Cuts a layout's memory into tiles that are contiguous
// in the file and boxes in the weight, and puts row-major elements in their places.
#pragma once

#include "dialects/engine/EngineDialect.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::compiler {

/// Rows [row, rowEnd) and columns [column, columnEnd) of a weight.
struct Window {
  int64_t row = 0, rowEnd = 0, column = 0, columnEnd = 0;

  int64_t rows() const { return rowEnd - row; }
  int64_t columns() const { return columnEnd - column; }
  bool isEmpty() const { return row >= rowEnd || column >= columnEnd; }
  auto operator<=>(const Window &) const = default;
};

/// A run of memory places and the box of elements, padding included, that they hold.
struct PackedTile {
  Window box;
  int64_t firstPlace = 0, places = 0;
};

/// One way to cut a layout: `runs` runs of `units` units each. Neighbouring units of a run may be
/// taken together; a unit is the smallest piece of this cut.
struct LayoutCut {
  int64_t depth = 1; ///< digits outside a unit; 0: the unit is everything
  int64_t runs = 1, units = 1;
  int64_t unitPlaces = 0;
  int64_t unitRows = 0, unitColumns = 0;
  int64_t granule = 1; ///< tiles start at multiples of this many units, hence at whole bytes
  bool alongRows = true;
};

/// A layout with neighbouring digits joined where they count on. Copyable, small.
class PackedLayout {
public:
  /// `digits` as LayoutAttr verifies them; at least rows x columns in extent.
  PackedLayout(llvm::ArrayRef<engine::LayoutAttr::Digit> digits, int64_t rows, int64_t columns,
               int64_t bits);

  int64_t rows() const { return weightRows; }
  int64_t columns() const { return weightColumns; }
  int64_t places() const { return allPlaces; }
  /// Bytes of `places` places, rounded up.
  int64_t bytesOf(int64_t places) const { return bytesOfPlaces(places, bits); }
  int64_t elementBits() const { return bits; }

  /// Every way to cut, from coarse to fine, at least one. Layouts that cannot be cut at their
  /// outermost digit start with the whole weight as the only unit.
  const std::vector<LayoutCut> &cuts() const { return allCuts; }

  /// Units [unit, unitEnd) of run `run` of a cut.
  PackedTile tile(const LayoutCut &cut, int64_t run, int64_t unit, int64_t unitEnd) const;

private:
  friend class TilePacker;
  using Digit = engine::LayoutAttr::Digit;

  void findCuts();
  /// Distance in memory of neighbouring values of digit `index`.
  int64_t placeStride(size_t index) const;
  /// What `index` along `axis` adds to an element's place.
  int64_t placeOf(int64_t axis, int64_t index) const;

  std::vector<Digit> digits; ///< outermost first
  std::vector<LayoutCut> allCuts;
  int64_t weightRows, weightColumns, bits, allPlaces = 1;
};

/// Puts elements of one tile in their places. Holds four bytes per run of a row.
class TilePacker {
public:
  /// `elementBytes`: of an element in the sources and in `places` (1 for nibbles).
  TilePacker(const PackedLayout &layout, const PackedTile &tile, int64_t elementBytes);

  /// The part of the tile's box that lies in the weight; the rest is padding.
  const Window &inside() const { return filled; }
  bool hasPadding() const { return padded; }

  /// Copies rows [row, rowEnd) of inside(). `source` holds them, each with all the columns of
  /// inside(), `pitch` elements apart. `places` is the tile's memory, `elementBytes` a place.
  void pack(int64_t row, int64_t rowEnd, const std::byte *source, int64_t pitch,
            std::byte *places) const;

  /// Upper bound of the bytes a packer of this layout allocates.
  static int64_t memory(const PackedLayout &layout);

private:
  const PackedLayout &layout;
  PackedTile tile;
  Window filled;
  bool padded;
  int64_t elementBytes;
  int64_t run = 1;                 ///< neighbouring columns that are neighbours in memory too
  int64_t panel = 1;               ///< rows to copy together, column by column
  std::vector<uint32_t> runPlaces; ///< of each run of columns, relative to the tile
};

} // namespace ingot::compiler
