// SPDX-License-Identifier: Apache-2.0
// llm.causal_conv: the tokens of one sequence in the step, the columns of a tile, and where their
// state lies. Buffers: input, positions, sequence_offsets, block_table, state, weight, bias where
// there is one, result.
#pragma once

#include "codegen/native/kernels/SequenceRun.h"

INGOT_CONST(columns);
INGOT_CONST(taps);         ///< inputs that a result is made of
INGOT_CONST(tile_columns); ///< of a tile
INGOT_CONST(block_tokens);
INGOT_CONST(state_type);
INGOT_CONST(biased); ///< 1: there is a bias
INGOT_CONST(input_type);
INGOT_CONST(weight_type);
INGOT_CONST(bias_type);
INGOT_CONST(result_type);

constexpr int64_t kMostTaps = 64;

struct ConvRun : SequenceRun {
  int64_t begin, end; ///< columns

  static ConvRun of(const IngotLaunch *launch) {
    int64_t begin = launch->tile[1] * ingot_const_tile_columns,
            most = begin + ingot_const_tile_columns;
    return {SequenceRun::of(launch, 1), begin,
            most < ingot_const_columns ? most : ingot_const_columns};
  }

  /// The row of state of the block of a position.
  char *stateOf(int64_t position) const { return blockOf(position / ingot_const_block_tokens); }
  /// Whether the i-th token leaves its state: the last one of a block or of the step, where there
  /// is a block.
  bool leavesState(int64_t i) const {
    int64_t position = first + i;
    bool isBorder = (position + 1) % ingot_const_block_tokens == 0;
    return (isBorder || i + 1 == count) && keeps(position / ingot_const_block_tokens);
  }
  /// Column c of the i-th token, in the input and in the result.
  int64_t element(int64_t i, int64_t c) const { return (row + i) * ingot_const_columns + c; }
  void *result() const { return launch->buffers[6 + ingot_const_biased]; }
};
