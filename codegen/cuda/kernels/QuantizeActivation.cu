// SPDX-License-Identifier: Apache-2.0
// llm.quantize_activation: one row a block. Buffers: input, static_scale?, result, scales.
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = vectorWidth(kColumns);
constexpr i64 kStep = constants::threads * kWidth;
constexpr bool kStatic = constants::static_scale != 0;
constexpr int kResult = kStatic ? 2 : 1;

/// The scale of the row at `first`, from its largest magnitude.
INGOT_DEVICE float scaleOf(const Launch &launch, i64 first) {
  float amax = 0;
  for (i64 column = threadIdx.x * kWidth; column < kColumns; column += kStep) {
    float x[kWidth];
    loadElements<constants::input_type>(launch.buffers[0], first + column, x);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      amax = fmaxf(amax, fabsf(x[i]));
  }
  return quantizedScale<constants::result_type>(blockMax<constants::threads>(amax));
}

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x, first = row * kColumns;
  float scale = kStatic ? launch.buffer<const float>(1)[0] : scaleOf(launch, first);
  // The row is read again, from the first-level cache.
  for (i64 column = threadIdx.x * kWidth; column < kColumns; column += kStep) {
    float x[kWidth];
    loadElements<constants::input_type>(launch.buffers[0], first + column, x);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x[i] = scaled<constants::result_type, kStatic>(x[i], scale);
    storeElements<constants::result_type>(launch.buffers[kResult], first + column, x);
  }
  if (threadIdx.x == 0)
    launch.buffer<float>(kResult + 1)[row] = scale;
}
