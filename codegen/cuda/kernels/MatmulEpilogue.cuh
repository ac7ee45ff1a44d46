// SPDX-License-Identifier: Apache-2.0
// What all matmul templates share: their buffers by meaning, and the end of an element's way from
// its sum to the result.
#pragma once

#include "Reductions.cuh"
#include "RegionMath.cuh"
#include "WeightBuffers.cuh"

namespace absent {
enum : i64 { heads = 0 }; ///< whose rows take turns, each with an expert's weight
} // namespace absent
namespace constants {
using namespace absent; // what an op leaves out is found there
}

namespace matmul {

constexpr bool kInteger = constants::integer != 0;
constexpr bool kPaired = constants::pair_offset != 0;
constexpr bool kScaled = constants::scale_extent != kNoScales;
constexpr bool kInputScaled = constants::input_scales != 0;
constexpr bool kByHead = constants::heads != 0;
/// Whether weights are stacked; `experts` counts heads too.
constexpr bool kByExpert = constants::experts != 0;
constexpr int kHasOrder = kByExpert && !kByHead;

// Buffers: input, weight, input_scales?, what is beside the weight, epilogue operands, order?,
// starts?, result, workspace?.
constexpr int kInput = 0, kWeight = 1, kInputScales = 2;
using Beside = WeightBuffers<kInputScales + kInputScaled>;
constexpr int kScales = Beside::kScales, kZeros = Beside::kZeros,
              kSuperScales = Beside::kSuperScales;
constexpr int kOperands = Beside::kEnd;
constexpr int kOrder = kOperands + int(constants::operands);
constexpr int kStarts = kOrder + kHasOrder;
constexpr int kResult = kStarts + kHasOrder;
constexpr int kWorkspace = kResult + 1;

constexpr i64 kColumns = constants::n; ///< of the result
constexpr i64 kDepth = constants::k;
/// Columns of k whose sum is formed alone (#engine.sums).
constexpr i64 kSegment = constants::segment;

/// Rows of the weight: of all experts.
constexpr i64 kAllWeightRows = constants::weight_rows * most(constants::experts, 1);

/// Rows of the result that a block computes ("tokens"): consecutive ones, or those that an expert
/// has in the order, or every so many-th, a head's. Places are counted from `first` on.
struct Tokens {
  i64 first, count;
  i64 expert;
  const i32 *order;

  __device__ __forceinline__ i64 result(i64 place) const {
    if constexpr (kByHead)
      return (first + place) * constants::heads + expert;
    return kByExpert ? i64(order[first + place]) : first + place;
  }
  /// What row of the input it is made of.
  __device__ __forceinline__ i64 input(i64 place) const { return inputOf(result(place)); }
  static __device__ __forceinline__ i64 inputOf(i64 row) { return row / constants::input_share; }
  /// The first row of the weight of the expert.
  __device__ __forceinline__ i64 weightRow() const { return expert * constants::weight_rows; }
};

/// Those of tile `index` of `Each` tokens; none where there is nothing to do. With experts: a tile
/// has rows of one, and they are counted expert by expert. All threads of the block call it.
template <int Each> INGOT_DEVICE Tokens tokensOf(const Launch &launch, i64 index) {
  i64 rows = launch.scalars[constants::rows_dim] * constants::rows_each;
  if constexpr (kByHead) {
    rows /= most(constants::heads, 1);
    i64 tiles = ceilDiv(rows, Each), first = index % tiles * Each;
    return {first, least(rows - first, Each), index / tiles, nullptr};
  } else if constexpr (kByExpert) {
    const i32 *starts = launch.buffer<const i32>(kStarts);
    const i32 *order = launch.buffer<const i32>(kOrder);
    // Lanes look through some experts each.
    constexpr int kLaneExperts = int(ceilDiv(constants::experts, kWarpSize));
    int lane = int(threadIdx.x) % kWarpSize, found = 0;
    int begins[kLaneExperts + 1], tiles = 0;
#pragma unroll
    for (int i = 0; i <= kLaneExperts; ++i)
      begins[i] = starts[least(lane * kLaneExperts + i, constants::experts)];
#pragma unroll
    for (int i = 0; i < kLaneExperts; ++i)
      tiles += int(ceilDiv(begins[i + 1] - begins[i], Each));
    int left = int(index) - (warpSumUpTo(tiles) - tiles);
    u32 holders = __ballot_sync(kAllLanes, 0 <= left && left < tiles);
    if (holders == 0)
      return {0, 0, 0, order};
    int first = 0, count = 0;
#pragma unroll
    for (int i = 0; i < kLaneExperts; ++i) {
      int rows = begins[i + 1] - begins[i], own = int(ceilDiv(rows, Each));
      if (0 <= left && left < own) {
        found = lane * kLaneExperts + i;
        first = begins[i] + left * Each;
        count = int(least(rows - left * Each, Each));
      }
      left -= own;
    }
    int holder = __ffs(int(holders)) - 1;
    return {__shfl_sync(kAllLanes, first, holder), __shfl_sync(kAllLanes, count, holder),
            __shfl_sync(kAllLanes, found, holder), order};
  } else {
    return {index * Each, least(rows - index * Each, Each), 0, nullptr};
  }
}

/// The result at (row, column) from its sums, before it is rounded.
INGOT_DEVICE float finish(const Launch &launch, i64 row, i64 column, float sum, float second) {
  if constexpr (kInputScaled) {
    float scale = launch.buffer<const float>(kInputScales)[Tokens::inputOf(row)];
    sum *= scale;
    second *= scale;
  }
  float x[4] = {};
  if constexpr (constants::operands > 0)
    x[0] = loadOperand<constants::address_0, constants::type_0>(launch.buffers[kOperands], row,
                                                                column, kColumns);
  if constexpr (constants::operands > 1)
    x[1] = loadOperand<constants::address_1, constants::type_1>(launch.buffers[kOperands + 1], row,
                                                                column, kColumns);
  if constexpr (constants::operands > 2)
    x[2] = loadOperand<constants::address_2, constants::type_2>(launch.buffers[kOperands + 2], row,
                                                                column, kColumns);
  if constexpr (constants::operands > 3)
    x[3] = loadOperand<constants::address_3, constants::type_3>(launch.buffers[kOperands + 3], row,
                                                                column, kColumns);
  return epilogue(sum, second, x[0], x[1], x[2], x[3]);
}

/// The result's column of row `row` of the weight; with pairs, of the first member of a pair.
INGOT_DEVICE i64 resultColumn(i64 row) {
  if constexpr (kPaired) {
    constexpr i64 offset = most(constants::pair_offset, 1);
    return row / (2 * offset) * offset + row % offset;
  }
  return row;
}

/// Where packed scales (and zeros) of one group a row hold row `row`: rows g and g + 8 of a tile of
/// 16 lie side by side.
INGOT_DEVICE i64 scalePlace(i64 row) { return row / 16 * 16 + row % 8 * 2 + row / 8 % 2; }

} // namespace matmul
