// SPDX-License-Identifier: Apache-2.0
// llm.causal_conv: some columns of one sequence a tile, each on its own. Buffers: those of
// ConvRun.h.
#include "codegen/native/kernels/ConvRun.h"

/// `value` as the state holds it.
static float rounded(float value) {
  float held = 0;
  storeElement(&held, 0, ingot_const_state_type, value);
  return loadElement(&held, 0, ingot_const_state_type);
}

static void computeColumn(const ConvRun &run, int64_t c) {
  const IngotLaunch *launch = run.launch;
  // The last inputs, the latest last.
  float inputs[kMostTaps] = {};
  for (int64_t j = 1; j < ingot_const_taps && run.first > 0; ++j)
    inputs[j] = loadElement(run.stateOf(run.first - 1), (j - 1) * ingot_const_columns + c,
                            ingot_const_state_type);
  for (int64_t i = 0; i < run.count; ++i) {
    for (int64_t j = 1; j < ingot_const_taps; ++j)
      inputs[j - 1] = inputs[j];
    inputs[ingot_const_taps - 1] =
        rounded(loadElement(launch->buffers[0], run.element(i, c), ingot_const_input_type));
    float sum = 0;
    for (int64_t j = 0; j < ingot_const_taps; ++j)
      sum += loadElement(launch->buffers[5], c * ingot_const_taps + j, ingot_const_weight_type) *
             inputs[j];
    if (ingot_const_biased)
      sum += loadElement(launch->buffers[6], c, ingot_const_bias_type);
    storeElement(run.result(), run.element(i, c), ingot_const_result_type, sum);
    if (run.leavesState(i))
      for (int64_t j = 1; j < ingot_const_taps; ++j)
        storeElement(run.stateOf(run.first + i), (j - 1) * ingot_const_columns + c,
                     ingot_const_state_type, inputs[j]);
  }
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ConvRun run = ConvRun::of(launch);
  for (int64_t c = run.begin; c < run.end && run.count > 0; ++c)
    computeColumn(run, c);
}
