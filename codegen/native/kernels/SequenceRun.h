// SPDX-License-Identifier: Apache-2.0
// The tokens of one sequence in a step, of operations with recurrent state, and where its blocks
// of state are.
#pragma once

#include "codegen/native/kernels/Elements.h"

INGOT_CONST(block_bytes); ///< from one block's row of the state to the next

/// Rows [row, row + count) of the step, at positions from `first` on.
struct SequenceRun {
  const IngotLaunch *launch;
  const int32_t *table;
  char *states;
  int64_t row, count, first;

  /// Of the sequence that the tile's first index names. `positions`: the buffer of that name,
  /// behind which come sequence_offsets, block_table and state.
  static SequenceRun of(const IngotLaunch *launch, int64_t positions) {
    void *const *buffers = launch->buffers + positions;
    int64_t sequence = launch->tile[0];
    const int32_t *offsets = static_cast<const int32_t *>(buffers[1]) + sequence;
    int64_t row = offsets[0], count = offsets[1] - row;
    return {launch,
            static_cast<const int32_t *>(buffers[2]) + sequence * launch->scalars[0],
            static_cast<char *>(buffers[3]),
            row,
            count,
            count > 0 ? static_cast<const int32_t *>(buffers[0])[row] : 0};
  }

  /// Whether there is memory for the i-th block of the sequence.
  bool keeps(int64_t block) const { return table[block] >= 0; }
  char *blockOf(int64_t block) const { return states + table[block] * ingot_const_block_bytes; }
};
