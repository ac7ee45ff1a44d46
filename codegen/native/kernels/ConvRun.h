// SPDX-License-Identifier: Apache-2.0
// llm.causal_conv: the tokens of one sequence in the step, the columns of a tile, and where their
// state lies. Buffers: input, positions, sequence_offsets, block_table, state, weight, bias where
// there is one, result.
#pragma once

#include "codegen/native/kernels/Elements.h"

INGOT_CONST(columns);
INGOT_CONST(taps);         ///< inputs that a result is made of
INGOT_CONST(tile_columns); ///< of a tile
INGOT_CONST(block_tokens);
INGOT_CONST(block_bytes);
INGOT_CONST(state_type);
INGOT_CONST(biased); ///< 1: there is a bias
INGOT_CONST(input_type);
INGOT_CONST(weight_type);
INGOT_CONST(bias_type);
INGOT_CONST(result_type);

constexpr int64_t kMostTaps = 64;

struct ConvRun {
  const IngotLaunch *launch;
  const int32_t *table;
  int64_t row, count; ///< of its tokens in the step: the first, and how many
  int64_t first;      ///< position of the first
  int64_t begin, end; ///< columns

  static ConvRun of(const IngotLaunch *launch) {
    int64_t sequence = launch->tile[0], begin = launch->tile[1] * ingot_const_tile_columns,
            most = begin + ingot_const_tile_columns;
    const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[2]) + sequence;
    int64_t row = offsets[0], count = offsets[1] - row;
    return {launch,
            static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[0],
            row,
            count,
            count > 0 ? static_cast<const int32_t *>(launch->buffers[1])[row] : 0,
            begin,
            most < ingot_const_columns ? most : ingot_const_columns};
  }

  /// The row of state of the block of a position.
  char *stateOf(int64_t position) const {
    return static_cast<char *>(launch->buffers[4]) +
           table[position / ingot_const_block_tokens] * ingot_const_block_bytes;
  }
  /// Whether the i-th token leaves its state: the last one of a block or of the step, where there
  /// is a block.
  bool leavesState(int64_t i) const {
    int64_t position = first + i;
    bool isBorder = (position + 1) % ingot_const_block_tokens == 0;
    return (isBorder || i + 1 == count) && table[position / ingot_const_block_tokens] >= 0;
  }
  /// Column c of the i-th token, in the input and in the result.
  int64_t element(int64_t i, int64_t c) const { return (row + i) * ingot_const_columns + c; }
  void *result() const { return launch->buffers[6 + ingot_const_biased]; }
};
