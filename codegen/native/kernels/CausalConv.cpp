// SPDX-License-Identifier: Apache-2.0
// llm.causal_conv: some columns of one sequence a tile. Buffers: input, positions,
// sequence_offsets, block_table, state, weight, bias where there is one, result.
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

/// `value` as the state holds it.
static float rounded(float value) {
  float held = 0;
  storeElement(&held, 0, ingot_const_state_type, value);
  return loadElement(&held, 0, ingot_const_state_type);
}

/// One sequence's part of the step.
struct Run {
  const IngotLaunch *launch;
  const int32_t *table;
  int64_t row, first; ///< of its first token: in the step, and its position

  char *stateOf(int64_t block) const {
    return static_cast<char *>(launch->buffers[4]) + table[block] * ingot_const_block_bytes;
  }

  /// Input of column `c` at `position`, which may lie before this step and before the sequence.
  float input(int64_t position, int64_t c) const {
    if (position < 0)
      return 0;
    if (position < first) {
      int64_t before = first - 1;
      return loadElement(stateOf(before / ingot_const_block_tokens),
                         (ingot_const_taps - 2 - (before - position)) * ingot_const_columns + c,
                         ingot_const_state_type);
    }
    int64_t index = (row + position - first) * ingot_const_columns + c;
    return rounded(loadElement(launch->buffers[0], index, ingot_const_input_type));
  }

  float result(int64_t position, int64_t c) const {
    float sum = 0;
    for (int64_t j = 0; j < ingot_const_taps; ++j)
      sum += loadElement(launch->buffers[5], c * ingot_const_taps + j, ingot_const_weight_type) *
             input(position - ingot_const_taps + 1 + j, c);
    return ingot_const_biased ? sum + loadElement(launch->buffers[6], c, ingot_const_bias_type)
                              : sum;
  }

  /// Writes what stands behind the token at `position`.
  void keep(int64_t position, int64_t c) const {
    int64_t block = position / ingot_const_block_tokens;
    if (table[block] < 0)
      return;
    for (int64_t i = 0; i < ingot_const_taps - 1; ++i)
      storeElement(stateOf(block), i * ingot_const_columns + c, ingot_const_state_type,
                   input(position - ingot_const_taps + 2 + i, c));
  }
};

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t sequence = launch->tile[0], begin = launch->tile[1] * ingot_const_tile_columns;
  const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[2]) + sequence;
  int64_t count = offsets[1] - offsets[0];
  if (count <= 0)
    return;
  int64_t first = static_cast<const int32_t *>(launch->buffers[1])[offsets[0]];
  Run run = {launch,
             static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[3],
             offsets[0], first};
  int64_t most = begin + ingot_const_tile_columns,
          end = most < ingot_const_columns ? most : ingot_const_columns, last = first + count - 1;
  for (int64_t c = begin; c < end; ++c) {
    for (int64_t position = first; position <= last; ++position)
      storeElement(launch->buffers[6 + ingot_const_biased],
                   (run.row + position - first) * ingot_const_columns + c, ingot_const_result_type,
                   run.result(position, c));
    // What was kept before this step is read for what is kept now, and may lie in the same row:
    // that block's is written last, and its oldest inputs first.
    for (int64_t position = last; position >= first;
         position -= position % ingot_const_block_tokens + 1)
      run.keep(position, c);
  }
}
