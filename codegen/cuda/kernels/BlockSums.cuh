// SPDX-License-Identifier: Apache-2.0
// Sums, running sums and first places over a block, for any type, in an order that depends on
// nothing but the block's size. All threads call them; `shared` is free again afterwards.
#pragma once

#include "Reductions.cuh"

/// Room for one value a warp, and a result.
template <class Type> struct BlockScratch {
  Type warps[kWarpSize];
  Type result;
};

/// Combines a value of each thread, lanes first, then warps in order; all threads get the result.
template <int Threads, class Type, class Combine>
INGOT_DEVICE Type blockCombine(Type value, BlockScratch<Type> &shared, Combine combine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  if (threadIdx.x % kWarpSize == 0)
    shared.warps[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  Type total = shared.warps[0];
#pragma unroll
  for (int warp = 1; warp < Threads / kWarpSize; ++warp)
    total = combine(total, shared.warps[warp]);
  __syncthreads();
  return total;
}

/// The sum of the values of all threads before this one; `total` is that of all.
template <int Threads, class Type>
INGOT_DEVICE Type blockSumBefore(Type value, BlockScratch<Type> &shared, Type &total) {
  int lane = int(threadIdx.x) % kWarpSize, ownWarp = int(threadIdx.x) / kWarpSize;
  Type inclusive = value;
#pragma unroll
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    Type other = __shfl_up_sync(kAllLanes, inclusive, distance);
    if (lane >= distance)
      inclusive = inclusive + other;
  }
  if (lane == kWarpSize - 1)
    shared.warps[ownWarp] = inclusive;
  __syncthreads();
  Type before = 0, sum = 0;
#pragma unroll
  for (int warp = 0; warp < Threads / kWarpSize; ++warp) {
    before = warp == ownWarp ? sum : before;
    sum = sum + shared.warps[warp];
  }
  __syncthreads();
  total = sum;
  Type previous = __shfl_up_sync(kAllLanes, inclusive, 1);
  return lane == 0 ? before : before + previous;
}
