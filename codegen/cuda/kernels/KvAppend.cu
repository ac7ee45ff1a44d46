// SPDX-License-Identifier: Apache-2.0
// llm.kv_append: a block is one token, a warp one head at a time. Buffers: keys, values, positions,
// token_sequences, block_table, cache, static_scales?.
#include "CacheWriter.cuh"

__device__ void run(const Launch &launch) {
  i64 token = blockIdx.x;
  int warps = int(constants::threads) / kWarpSize * int(gridDim.y);
  KvPlace place = kvPlaceOf(launch, launch.buffers[5], launch.buffer<const i32>(2),
                            launch.buffer<const i32>(3), launch.buffer<const i32>(4), token);
  int first = int(blockIdx.y * (constants::threads / kWarpSize) + threadIdx.x / kWarpSize);
  for (int work = first; work < 2 * kKvHeads; work += warps) {
    int head = work / 2;
    i64 from = (token * kKvHeads + head) * kHeadDim;
    if (work % 2 == 0)
      appendHead(loadHead<constants::keys_type>(launch.buffers[0], from), place.keys(),
                 place.element(head), place.keyScale(head), fixedScale(launch, 0));
    else
      appendHead(loadHead<constants::values_type>(launch.buffers[1], from), place.values(),
                 place.element(head), place.valueScale(head), fixedScale(launch, 1));
  }
}
