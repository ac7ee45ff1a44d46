// SPDX-License-Identifier: Apache-2.0
// llm.place_rows: a block is one row and `threads` vectors of its columns. Buffers: rows, given,
// places, result.
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = vectorWidth(kColumns, 4);

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x;
  i64 column = (i64(blockIdx.y) * constants::threads + threadIdx.x) * kWidth;
  if (column >= kColumns)
    return;
  i64 place = launch.buffer<const i32>(2)[row];
  float x[kWidth], sum[kWidth];
  if (place >= 0)
    loadElements<constants::given_type>(launch.buffers[1], place * kColumns + column, x);
  if (place < 0 || constants::added)
    loadElements<constants::rows_type>(launch.buffers[0], row * kColumns + column, sum);
  for (int i = 0; i < kWidth; ++i)
    x[i] = place < 0 ? sum[i] : constants::added ? x[i] + sum[i] : x[i];
  storeElements<constants::rows_type>(launch.buffers[3], row * kColumns + column, x);
}
