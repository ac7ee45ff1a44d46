// SPDX-License-Identifier: Apache-2.0
// llm.causal_conv: some columns of one sequence a tile, sixteen at a time, with their weights and
// last inputs in registers. Its floor is the bytes of input and result. Buffers: those of
// ConvRun.h.
#include "codegen/native/kernels/ConvRun.h"
#include "codegen/x86/kernels/Vector.h"

namespace ingot::x86 {
namespace {

/// `value` as the state holds it.
[[gnu::always_inline]] inline Floats rounded(Floats value) {
  alignas(64) char held[lanes * sizeof(float)];
  store(ingot_const_state_type, held, 0, value);
  return load(ingot_const_state_type, held, 0);
}

/// Weight j of sixteen columns from `c` on; zeros where there are none.
Floats weightsOf(const ConvRun &run, int64_t c, int64_t j) {
  alignas(64) float weights[lanes] = {};
  for (int64_t lane = 0; lane < lanes && c + lane < ingot_const_columns; ++lane)
    weights[lane] = loadElement(run.launch->buffers[5], (c + lane) * ingot_const_taps + j,
                                ingot_const_weight_type);
  return loadVector<Floats>(weights);
}

void computeColumns(const ConvRun &run, int64_t c) {
  constexpr int64_t most = kMostTaps;
  const int64_t taps = ingot_const_taps;
  // The last inputs, the latest last.
  Floats weights[most], inputs[most], bias = {};
  for (int64_t j = 0; j < taps; ++j) {
    weights[j] = weightsOf(run, c, j);
    inputs[j] = j > 0 && run.first > 0 ? load(ingot_const_state_type, run.stateOf(run.first - 1),
                                              (j - 1) * ingot_const_columns + c)
                                       : Floats{};
  }
  if (ingot_const_biased)
    bias = load(ingot_const_bias_type, run.launch->buffers[6], c);
  for (int64_t i = 0; i < run.count; ++i) {
    for (int64_t j = 1; j < taps; ++j)
      inputs[j - 1] = inputs[j];
    inputs[taps - 1] =
        rounded(load(ingot_const_input_type, run.launch->buffers[0], run.element(i, c)));
    Floats sum = {};
    for (int64_t j = 0; j < taps; ++j)
      sum += weights[j] * inputs[j];
    if (ingot_const_biased)
      sum += bias;
    store(ingot_const_result_type, run.result(), run.element(i, c), sum, ingot_const_columns - c);
    if (run.leavesState(i))
      for (int64_t j = 1; j < taps; ++j)
        store(ingot_const_state_type, run.stateOf(run.first + i), (j - 1) * ingot_const_columns + c,
              inputs[j], ingot_const_columns - c);
  }
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ConvRun run = ConvRun::of(launch);
  for (int64_t c = run.begin; c < run.end && run.count > 0; c += ingot::x86::lanes)
    ingot::x86::computeColumns(run, c);
}
