// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a block. Buffers: input, result, scales.
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = vectorWidth(kColumns);
constexpr i64 kStep = constants::threads * kWidth;

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x, first = row * kColumns;
  float amax = 0;
  for (i64 column = threadIdx.x * kWidth; column < kColumns; column += kStep) {
    float x[kWidth];
    loadElements<constants::input_type>(launch.buffers[0], first + column, x);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      amax = fmaxf(amax, fabsf(x[i]));
  }
  float scale = quantizedScale<constants::result_type>(blockMax<constants::threads>(amax));
  // The row is read again, from the first-level cache.
  for (i64 column = threadIdx.x * kWidth; column < kColumns; column += kStep) {
    float x[kWidth];
    loadElements<constants::input_type>(launch.buffers[0], first + column, x);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x[i] = x[i] / scale;
    storeElements<constants::result_type>(launch.buffers[1], first + column, x);
  }
  if (threadIdx.x == 0)
    launch.buffer<float>(2)[row] = scale;
}
