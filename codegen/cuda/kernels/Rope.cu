// SPDX-License-Identifier: Apache-2.0
// llm.rope: a block is one token and a run of its heads, a warp one head at a time. Buffers: input,
// positions, inv_freq, result.
#include "Rotation.cuh"

__device__ void run(const Launch &launch) {
  constexpr int heads = int(constants::columns) / kHeadDim;
  __shared__ Rotation rotation;
  i64 token = blockIdx.x;
  prepareRotation(launch.buffer<const i32>(1), token, launch.buffer<const float>(2), rotation);
  int warps = int(constants::threads) / kWarpSize * int(gridDim.y);
  int first = int(blockIdx.y * (constants::threads / kWarpSize) + threadIdx.x / kWarpSize);
  for (int index = first; index < heads; index += warps) {
    i64 element = (token * heads + index) * kHeadDim;
    Head head = loadHead<constants::input_type>(launch.buffers[0], element);
    rotate<constants::input_type, constants::result_type>(rotation, launch.buffers[0], element,
                                                          head);
    storeHead<constants::result_type>(launch.buffers[3], element, head);
  }
}
