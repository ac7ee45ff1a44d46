// SPDX-License-Identifier: Apache-2.0
// llm.embed: a block is one token and a run of its columns, from a table in any layout. Buffers:
// tokens, table with what is beside it, result.
#include "EncodedWeight.cuh"
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kWidth = constants::row_major ? vectorWidth(kColumns) : 1;
using Beside = WeightBuffers<2>;

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = blockIdx.x;
  i64 column = (i64(blockIdx.y) * constants::threads + threadIdx.x) * kWidth;
  if (column >= kColumns)
    return;
  EncodedWeight table = EncodedWeight::from<Beside>(launch, 1);
  i32 id = launch.buffer<const i32>(0)[row];
  u32 token = u32(id) < u32(constants::table_rows) ? u32(id) : 0;
  float x[kWidth];
  if constexpr (constants::row_major && elementBits(constants::weight_type) >= 8) {
    loadElements<constants::weight_type>(table.values, i64(token) * kColumns + column, x);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x[i] = table.element(token, u32(column) + i);
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    x[i] = table.value(x[i], token, u32(column) + i);
  storeElements<constants::result_type>(launch.buffers[Beside::kEnd], row * kColumns + column, x);
}
