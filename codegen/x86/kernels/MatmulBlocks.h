// SPDX-License-Identifier: Apache-2.0
// Block sizes of the products, which their kernels and the provider share.
#pragma once

#include "codegen/native/kernels/Kernel.h"

namespace ingot::x86 {

/// Rows of the weight that are stored together and computed in the lanes of a vector.
constexpr int64_t panelRows = 16;

/// Columns that a row of a panel holds side by side: 8 for integers of fewer than 8 bits, which
/// serve float and integer sums alike; 4 bytes for integer sums of int8; 2 for sums of bf16 by
/// bf16; 1 for other float sums.
constexpr int64_t columnsTogether(int64_t weightType, int64_t inputType) {
  if (elementBits(weightType) < 8)
    return 8;
  if (weightType == kBf16 && inputType == kBf16)
    return 2;
  return weightType == kI8 && inputType == kI8 ? 4 : 1;
}

/// Columns of k that are summed together; part of the numerics of llm.matmul.
constexpr int64_t segmentColumns = 512;

/// Floats from one row to the next of a block of the input: not a power of two, so that the rows
/// fall into different sets of the cache.
constexpr int64_t inputStride = segmentColumns + 16;

/// Rows of the largest register tile: blocks are padded to a multiple.
constexpr int64_t registerRows = 12;

/// Rows of a tile of AMX, bytes of a row, and of the tile, at most. Blocks of the kernels on AMX
/// are padded to whole tiles.
constexpr int64_t amxRows = 16, amxRowBytes = 64, tileBytes = amxRows * amxRowBytes;

/// Words of a tile's sums.
constexpr int64_t tileWords = amxRows * panelRows;

/// Panels that are expanded together, at most: those of a register tile.
constexpr int64_t expandedPanels = 2;

/// Groups whose numbers a single row copies at once.
constexpr int64_t copiedGroups = 8;

/// Parts of bf16 whose sum is an element of such an input, without rounding.
constexpr int64_t inputParts(int64_t type) { return type == kF16 ? 2 : 1; }

/// Parts of bf16 that weights are expanded to at most, as books of f32 numbers need.
constexpr int64_t weightParts = 3;

/// Groups that a block of scale codes has at most where tiles sum it.
constexpr int64_t mostBlockGroups = amxRows;

constexpr int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Columns of pairs that are summed before they are scaled, of groups of `group` columns: long
/// groups are cut into equal parts.
constexpr int64_t pairedColumns(int64_t group) {
  int64_t columns = group;
  if (group > segmentColumns)
    for (columns = segmentColumns; group % columns != 0;)
      columns -= amxRowBytes / 2;
  return columns;
}

/// Columns that are multiplied by all rows before these go on in k: as many whole groups of `group`
/// columns as the columns hold that are named. The panels that are multiplied together are 16 KB
/// then, which stay in the first-level cache, beside a tile of rows as large; tiles of bytes go
/// through all panels first, so that rows stay in the second.
constexpr int64_t byteBlockColumns = 512, pairBlockColumns = 256, tileBlockColumns = 1024;
constexpr int64_t wholeGroups(int64_t columns, int64_t group) {
  return group < columns ? columns / group * group : group;
}

} // namespace ingot::x86
