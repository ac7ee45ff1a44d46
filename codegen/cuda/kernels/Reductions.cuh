// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over the threads of a block, in an order that depends on nothing but the block's
// size. Every thread of the block calls them and gets the result.
#pragma once

#include "Kernel.cuh"

constexpr u32 kAllLanes = 0xffffffffu;
constexpr int kWarpSize = 32;

/// Over a warp: lanes 16 apart first, then 8, 4, 2 and 1; every lane gets the same bits.
INGOT_DEVICE float warpSum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}
INGOT_DEVICE float warpMax(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

/// The sum of the lanes up to this one.
INGOT_DEVICE int warpSumUpTo(int value) {
#pragma unroll
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    int other = __shfl_up_sync(kAllLanes, value, distance);
    value += int(threadIdx.x) % kWarpSize >= distance ? other : 0;
  }
  return value;
}

namespace reductions {
/// `shared`: one float a warp. Its use is over when the function returns.
template <int Threads, class Combine>
INGOT_DEVICE float overWarps(float value, float *shared, Combine combine) {
  constexpr int warps = Threads / kWarpSize;
  if constexpr (warps == 1)
    return value;
  if (threadIdx.x % kWarpSize == 0)
    shared[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  float total = shared[0];
#pragma unroll
  for (int warp = 1; warp < warps; ++warp)
    total = combine(total, shared[warp]);
  __syncthreads();
  return total;
}
} // namespace reductions

/// Over a block of `Threads` (a multiple of 32): within warps, then the warps in order.
template <int Threads> INGOT_DEVICE float blockSum(float value) {
  __shared__ float sums[Threads / kWarpSize];
  return reductions::overWarps<Threads>(warpSum(value), sums,
                                        [](float a, float b) { return a + b; });
}
template <int Threads> INGOT_DEVICE float blockMax(float value) {
  __shared__ float maxima[Threads / kWarpSize];
  return reductions::overWarps<Threads>(warpMax(value), maxima,
                                        [](float a, float b) { return fmaxf(a, b); });
}
