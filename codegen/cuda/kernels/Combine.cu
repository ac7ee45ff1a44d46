// SPDX-License-Identifier: Apache-2.0
// llm.combine: a block is one row of the result and `threads` vectors of its columns. Buffers:
// input, weights if `weighted`, result.
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = vectorWidth(kColumns, 4), kTopK = int(constants::top_k);

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x;
  i64 column = (i64(blockIdx.y) * constants::threads + threadIdx.x) * kWidth;
  if (column >= kColumns)
    return;
  [[maybe_unused]] const float *weights = launch.buffer<const float>(1) + row * kTopK;
  float sums[kWidth] = {};
#pragma unroll
  for (int s = 0; s < kTopK; ++s) {
    float x[kWidth];
    loadElements<constants::input_type>(launch.buffers[0], (row * kTopK + s) * kColumns + column,
                                        x);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      if constexpr (constants::weighted != 0)
        sums[i] = __fadd_rn(sums[i], __fmul_rn(weights[s], x[i]));
      else
        sums[i] = __fadd_rn(sums[i], x[i]);
  }
  storeElements<constants::result_type>(launch.buffers[1 + constants::weighted],
                                        row * kColumns + column, sums);
}
