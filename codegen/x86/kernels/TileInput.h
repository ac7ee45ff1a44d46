// SPDX-License-Identifier: Apache-2.0
// The input of products on AMX, by tiles of 16 rows and 64 bytes.
#pragma once

#include "codegen/x86/kernels/AmxTiles.h"
#include "codegen/x86/kernels/PackedInput.h"

namespace ingot::x86 {

/// Copies rows from row `from` on to tiles of `width` bytes of each:
/// [tile of rows][tile of columns][16][width].
inline void copyTiles(const char *input, const Rows &rows, int64_t from, int64_t width, char *to) {
  const int64_t bytes = inputRowBytes();
  for (int64_t row = from; row < rows.count; ++row) {
    const char *next = input + rows.input(row) * bytes;
    char *line = to + (row - from) / amxRows * amxRows * bytes + (row - from) % amxRows * width;
    for (int64_t i = 0; i < bytes; i += width, line += amxRows * width)
      __builtin_memcpy(line, next + i, width);
  }
}

/// Rows are read where they are, or from a copy: many rows, since rows a power of two apart share a
/// few sets of the cache; rows that do not follow each other; those of a tile that is not full.
struct TileInput {
  const char *rows; ///< of the block where they follow each other, [row][k]
  const char *copy; ///< tiles from copyFrom on
  int64_t copyFrom; ///< a multiple of amxRows, or all rows where they are fewer

  /// A tile of rows: of the first columns, and from one row, and one tile of columns, to the next.
  struct Tile {
    const char *first;
    int64_t stride, step;

    [[gnu::always_inline]] const char *at(int64_t k) const {
      return first + k / amxRowBytes * step;
    }
  };
  [[gnu::always_inline]] Tile tile(int64_t row) const {
    if (row < copyFrom)
      return {rows + row * inputRowBytes(), inputRowBytes(), amxRowBytes};
    return {copy + (row - copyFrom) * inputRowBytes(), amxRowBytes, tileBytes};
  }

  /// Whether rows do not follow each other.
  static bool isGathered() { return ingot_const_experts || ingot_const_input_share != 1; }

  /// The first row that is copied.
  static int64_t firstCopied(const Rows &rows) {
    if (copiesAllRows(ingot_const_tile_rows, isGathered()))
      return 0;
    // Fewer rows than a tile has make a tile of so many.
    return rows.count < amxRows ? rows.count : rows.count / amxRows * amxRows;
  }

  /// Fills `copy`.
  static void take(const void *input, const Rows &rows, char *copy) {
    copyTiles(static_cast<const char *>(input), rows, firstCopied(rows), amxRowBytes, copy);
  }

  static TileInput of(const void *input, const Rows &rows, const char *copy) {
    return {static_cast<const char *>(input) + rows.first * inputRowBytes(), copy,
            firstCopied(rows)};
  }
};

} // namespace ingot::x86
