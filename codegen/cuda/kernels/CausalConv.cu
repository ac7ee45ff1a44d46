// SPDX-License-Identifier: Apache-2.0
// llm.causal_conv: a block is some columns of one sequence, a thread one of them. Buffers: input,
// positions, sequence_offsets, block_table, state, weight, bias where there is one, result.
#include "Elements.cuh"

namespace {

constexpr int kTaps = int(constants::taps);
constexpr i64 kColumns = constants::columns;
/// The buffer.
constexpr int kResult = constants::biased ? 7 : 6;

/// `value` as the state holds it.
INGOT_DEVICE float rounded(float value) {
  float held = 0;
  storeElement<constants::state_type>(&held, 0, value);
  return loadElement<constants::state_type>(&held, 0);
}

} // namespace

__device__ void run(const Launch &launch) {
  i64 sequence = blockIdx.x, column = i64(blockIdx.y) * constants::threads + threadIdx.x;
  const i32 *offsets = launch.buffer<const i32>(2) + sequence;
  int row = offsets[0], count = offsets[1] - row;
  if (count <= 0 || column >= kColumns)
    return;
  const i32 *table = launch.buffer<const i32>(3) + sequence * launch.tableColumns();
  auto stateOf = [&](int position) {
    return launch.buffer<u8>(4) +
           i64(table[position / int(constants::block_tokens)]) * constants::block_bytes;
  };
  int position = launch.buffer<const i32>(1)[row], end = row + count;
  float weights[kTaps], inputs[kTaps] = {};
#pragma unroll
  for (int j = 0; j < kTaps; ++j)
    weights[j] = loadElement<constants::weight_type>(launch.buffers[5], column * kTaps + j);
#pragma unroll
  for (int j = 1; j < kTaps; ++j)
    if (position > 0)
      inputs[j] = loadElement<constants::state_type>(stateOf(position - 1),
                                                     (j - 1) * kColumns + column);
  for (; row < end; ++row, ++position) {
#pragma unroll
    for (int j = 1; j < kTaps; ++j)
      inputs[j - 1] = inputs[j];
    i64 element = row * kColumns + column;
    inputs[kTaps - 1] = rounded(loadElement<constants::input_type>(launch.buffers[0], element));
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kTaps; ++j)
      sum += weights[j] * inputs[j];
    if constexpr (constants::biased)
      sum += loadElement<constants::bias_type>(launch.buffers[6], column);
    storeElement<constants::result_type>(launch.buffers[kResult], element, sum);
    bool isBorder = (position + 1) % int(constants::block_tokens) == 0;
    if ((isBorder || row + 1 == end) && table[position / int(constants::block_tokens)] >= 0)
#pragma unroll
      for (int j = 1; j < kTaps; ++j)
        storeElement<constants::state_type>(stateOf(position), (j - 1) * kColumns + column,
                                            inputs[j]);
  }
}
