// SPDX-License-Identifier: Apache-2.0
// The input of products on AMX, by tiles of 16 rows.
#pragma once

#include "codegen/x86/kernels/AmxTiles.h"
#include "codegen/x86/kernels/PackedInput.h"

namespace ingot::x86 {

/// Rows that follow each other are read where they are; others, and those of a tile that is not
/// full, from a copy.
struct TileInput {
  const char *rows; ///< of the block where they follow each other, [row][k]
  const char *copy; ///< of tiles from copyFrom on, tileStride(bytes of a row) apart
  int64_t copyFrom; ///< a multiple of amxRows, or all rows where they are fewer

  struct Tile {
    const char *first;
    int64_t stride;
  };
  [[gnu::always_inline]] Tile tile(int64_t row) const {
    if (row < copyFrom)
      return {rows + row * inputRowBytes(), inputRowBytes()};
    return {copy + (row - copyFrom) * tileStride(inputRowBytes()), tileStride(inputRowBytes())};
  }

  /// Whether rows do not follow each other.
  static bool isGathered() { return ingot_const_experts || ingot_const_input_share != 1; }

  static TileInput of(const void *input, const Rows &rows, char *copy) {
    const char *from = static_cast<const char *>(input);
    // Fewer rows than a tile has make a tile of so many.
    int64_t whole = rows.count < amxRows ? rows.count : rows.count / amxRows * amxRows;
    int64_t copyFrom = isGathered() ? 0 : whole;
    for (int64_t row = copyFrom; row < rows.count; ++row)
      __builtin_memcpy(copy + (row - copyFrom) * tileStride(inputRowBytes()),
                       from + rows.input(row) * inputRowBytes(), inputRowBytes());
    return {from + rows.first * inputRowBytes(), copy, copyFrom};
  }
};

} // namespace ingot::x86
