// SPDX-License-Identifier: Apache-2.0
// llm.rope_append: a block is one token and a run of its heads, a warp one head at a time. Buffers:
// qkv, positions, inv_freq, token_sequences, block_table, cache, static_scales?, rotary?, result.
#include "CacheWriter.cuh"
#include "Rotation.cuh"

__device__ void run(const Launch &launch) {
  constexpr int queryHeads = int(constants::query_heads), heads = queryHeads + 2 * kKvHeads;
  __shared__ Rotation rotation;
  i64 token = blockIdx.x;
  constexpr int behindScales = kStaticScales ? 7 : 6;
  prepareRotation(launch.buffer<const i32>(constants::axes > 1 ? behindScales : 1), token,
                  launch.buffer<const float>(2), rotation);
  KvPlace place = kvPlaceOf(launch, launch.buffers[5], launch.buffer<const i32>(1),
                            launch.buffer<const i32>(3), launch.buffer<const i32>(4), token);
  int warps = int(constants::threads) / kWarpSize * int(gridDim.y);
  int first = int(blockIdx.y * (constants::threads / kWarpSize) + threadIdx.x / kWarpSize);
  for (int index = first; index < heads; index += warps) {
    i64 element = (token * heads + index) * kHeadDim;
    Head head = loadHead<constants::input_type>(launch.buffers[0], element);
    int kvHead = (index - queryHeads) % kKvHeads;
    if (index < queryHeads + kKvHeads)
      // The key is rounded to the result's type on its way to the cache.
      rotate<constants::input_type, constants::result_type>(rotation, launch.buffers[0], element,
                                                            head);
    if (index < queryHeads)
      storeHead<constants::result_type>(launch.buffers[behindScales + (constants::axes > 1)],
                                        (token * queryHeads + index) * kHeadDim, head);
    else if (index < queryHeads + kKvHeads)
      appendHead(head, place.keys(), place.element(kvHead), place.keyScale(kvHead),
                 fixedScale(launch, 0));
    else
      appendHead(head, place.values(), place.element(kvHead), place.valueScale(kvHead),
                 fixedScale(launch, 1));
  }
}
