// SPDX-License-Identifier: Apache-2.0
// Which rows of a product by groups (llm.matmul with `groups`) a tile computes.
#pragma once

#include "codegen/native/kernels/Kernel.h"

/// order[first], ..., order[first + rows - 1] of one expert; no rows: the tile has no work.
struct GroupTile {
  int64_t expert, first, rows;
};

/// Tile `index` of those that take `tileRows` rows of one expert, expert by expert.
INGOT_INLINE GroupTile groupTile(const int32_t *starts, int64_t experts, int64_t tileRows,
                                 int64_t index) {
  for (int64_t expert = 0; expert < experts; ++expert) {
    int64_t rows = starts[expert + 1] - starts[expert];
    int64_t tiles = (rows + tileRows - 1) / tileRows;
    if (index < tiles) {
      int64_t done = index * tileRows, left = rows - done;
      return {expert, starts[expert] + done, left < tileRows ? left : tileRows};
    }
    index -= tiles;
  }
  return {};
}
