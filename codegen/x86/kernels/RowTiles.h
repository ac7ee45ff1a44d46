// SPDX-License-Identifier: Apache-2.0
// Rows of the input, and of sums, as tiles of AMX have them.
#pragma once

#include "codegen/x86/kernels/AmxTiles.h"
#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// Columns of a block's sums, from one row to the next.
inline int64_t tileSumColumns() { return TileScratch::sumColumns(ingot_const_tile_panels); }

/// Copies rows from row `from` on to tiles of `width` bytes of each:
/// [tile of rows][tile of columns][16][width]. The last columns are followed by what lies behind
/// them.
inline void copyTiles(const char *input, const Rows &rows, int64_t from, int64_t width, char *to) {
  const int64_t bytes = roundUp(inputRowBytes(), width);
  for (int64_t row = from; row < rows.count; ++row) {
    const char *next = input + rows.input(row) * inputRowBytes();
    char *line = to + (row - from) / amxRows * amxRows * bytes + (row - from) % amxRows * width;
    for (int64_t i = 0; i < bytes; i += width, line += amxRows * width)
      __builtin_memcpy(line, next + i, width);
  }
}

} // namespace ingot::x86
