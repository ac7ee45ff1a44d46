// SPDX-License-Identifier: Apache-2.0
// Block sizes of the matmul kernel and the scratch memory they need; also read by the provider.
#pragma once

#include <stdint.h>

namespace ingot::x86 {

/// Rows of the weight that are stored together and computed in the lanes of a vector.
constexpr int64_t panelRows = 16;

/// Columns of k that are summed together; part of the numerics of llm.matmul.
constexpr int64_t segmentColumns = 512;

/// Floats from one row to the next of a block of the input: not a power of two, so that the rows
/// fall into different sets of the cache.
constexpr int64_t inputStride = segmentColumns + 16;

/// Rows of the largest register tile: blocks are padded to a multiple.
constexpr int64_t registerRows = 12;

/// Rows of a tile of AMX, and bytes of a row, at most. Blocks of the kernel on AMX are padded to
/// whole tiles.
constexpr int64_t amxRows = 16, amxRowBytes = 64;

/// What the kernel on AMX keeps: the sums of twenty tiles.
constexpr int64_t tileSumBytes = 20 * amxRows * panelRows * 4;

/// Panels that are expanded to bytes together, at most: those of a register tile.
constexpr int64_t expandedPanels = 2;

/// Panels that the path for single rows keeps in flight.
constexpr int64_t singleRowPanels = 4;

constexpr int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes from one row to the next of the i8 input of the kernel on AMX: whole lines, and not a
/// power of two.
constexpr int64_t tileStride(int64_t k) { return roundUp(k, amxRowBytes) + amxRowBytes; }

/// Scratch of one tile, in this order, each part a multiple of 64 bytes: sums [rows][panels * 16]
/// f32; for float sums the input block [rows][inputStride] f32 (single rows: [k] f32) and two
/// decoded panels [2][segmentColumns][16] f32; for integer sums the input's sums [rows][groups]
/// i32, its copy [rows][k] i8, on AMX [rows][tileStride(k)] of the rows that are copied and the
/// tiles' sums, and for blocks of rows two panels as bytes [k][32] with the scales and offsets or
/// zero points [groups][32] of four bytes each.
struct MatmulScratch {
  int64_t rows, panels, k, groups;
  bool integer, amx, gathered; ///< gathered: rows of the input do not follow each other

  constexpr int64_t paddedRows() const {
    return rows == 1 ? 1 : roundUp(rows, amx ? amxRows : registerRows);
  }
  constexpr int64_t sumBytes() const { return paddedRows() * panels * panelRows * 4; }
  constexpr int64_t inputBytes() const {
    if (integer)
      return roundUp(paddedRows() * groups * 4, 64);
    return rows == 1 ? roundUp(k, 16) * 4 : paddedRows() * inputStride * 4;
  }
  /// Of the copy of an i8 input, before the panels as bytes.
  constexpr int64_t copiedBytes() const {
    if (amx)
      return (gathered ? paddedRows() : amxRows) * tileStride(k);
    return roundUp(paddedRows() * roundUp(k, 8), 64);
  }
  constexpr int64_t weightBytes() const {
    if (integer) {
      int64_t lanes = expandedPanels * panelRows;
      return copiedBytes() + (amx ? tileSumBytes : 0) +
             (rows == 1 ? 0 : (roundUp(k, 8) + 2 * groups * 4) * lanes);
    }
    return rows == 1 ? 0 : 2 * segmentColumns * panelRows * 4;
  }
  constexpr int64_t bytes() const { return sumBytes() + inputBytes() + weightBytes(); }
};

} // namespace ingot::x86
