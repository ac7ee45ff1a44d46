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

constexpr int64_t kMostTaps = 64;

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
  int64_t row, count; ///< of its tokens in the step: the first, and how many
  int64_t first;      ///< position of the first

  char *stateOf(int64_t position) const {
    return static_cast<char *>(launch->buffers[4]) +
           table[position / ingot_const_block_tokens] * ingot_const_block_bytes;
  }

  void column(int64_t c) const {
    // The last inputs, the latest last.
    float inputs[kMostTaps] = {};
    for (int64_t j = 1; j < ingot_const_taps && first > 0; ++j)
      inputs[j] = loadElement(stateOf(first - 1), (j - 1) * ingot_const_columns + c,
                              ingot_const_state_type);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 1; j < ingot_const_taps; ++j)
        inputs[j - 1] = inputs[j];
      int64_t element = (row + i) * ingot_const_columns + c, position = first + i;
      inputs[ingot_const_taps - 1] =
          rounded(loadElement(launch->buffers[0], element, ingot_const_input_type));
      float sum = 0;
      for (int64_t j = 0; j < ingot_const_taps; ++j)
        sum += loadElement(launch->buffers[5], c * ingot_const_taps + j, ingot_const_weight_type) *
               inputs[j];
      if (ingot_const_biased)
        sum += loadElement(launch->buffers[6], c, ingot_const_bias_type);
      storeElement(launch->buffers[6 + ingot_const_biased], element, ingot_const_result_type, sum);
      bool isBorder = (position + 1) % ingot_const_block_tokens == 0;
      if ((isBorder || i + 1 == count) && table[position / ingot_const_block_tokens] >= 0)
        for (int64_t j = 1; j < ingot_const_taps; ++j)
          storeElement(stateOf(position), (j - 1) * ingot_const_columns + c, ingot_const_state_type,
                       inputs[j]);
    }
  }
};

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t sequence = launch->tile[0], begin = launch->tile[1] * ingot_const_tile_columns;
  const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[2]) + sequence;
  int64_t row = offsets[0], count = offsets[1] - row;
  if (count <= 0)
    return;
  Run run = {launch,
             static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[0], row,
             count, static_cast<const int32_t *>(launch->buffers[1])[row]};
  int64_t most = begin + ingot_const_tile_columns,
          end = most < ingot_const_columns ? most : ingot_const_columns;
  for (int64_t c = begin; c < end; ++c)
    run.column(c);
}
