// SPDX-License-Identifier: Apache-2.0
// llm.group_rows: a block is one expert. Buffers: experts, order, starts.
#include "BlockSums.cuh"

namespace {

constexpr int kThreads = int(constants::threads);

} // namespace

__device__ void run(const Launch &launch) {
  __shared__ BlockScratch<i32> sums;
  i64 rows = launch.scalars[constants::rows_dim] * constants::rows_each;
  const i32 *experts = launch.buffer<const i32>(0);
  i32 *order = launch.buffer<i32>(1), *starts = launch.buffer<i32>(2);
  i32 expert = i32(blockIdx.x), lower = 0;
  for (i64 row = threadIdx.x; row < rows; row += kThreads)
    lower += experts[row] < expert;
  i32 place = blockCombine<kThreads>(lower, sums, [](i32 a, i32 b) { return a + b; });
  if (threadIdx.x == 0)
    starts[expert] = place;
  for (i64 first = 0; first < rows; first += kThreads) {
    i64 row = first + threadIdx.x;
    i32 own = row < rows && experts[row] == expert, all = 0;
    i32 before = blockSumBefore<kThreads>(own, sums, all);
    if (own)
      order[place + before] = i32(row);
    place += all;
  }
  if (threadIdx.x == 0 && expert == constants::experts - 1)
    starts[expert + 1] = place;
}
