// SPDX-License-Identifier: Apache-2.0
// How a block merges the parts of segments that blocks have left in the workspace. The order
// is that of positions, one segment after the other: but the factors of many segments are worked
// out at once, and the loads of some are under way together.
#pragma once

#include "AttentionTile.cuh"

/// Heads that are merged at once.
constexpr int kHeads = int(least(kGroup, kRows));
/// A segment's part of a head: values not yet divided by the sum, the maximum, the sum.
constexpr int kPartFloats = kValueDim + 2;

/// Segments whose factors are worked out at once, one by each lane.
constexpr int kMergedSegments = kWarpSize;
/// Pairs of a part's floats, the last of which is the maximum and the sum; and a thread's share of
/// those of all heads.
constexpr int kPartPairs = kPartFloats / 2;
constexpr int kThreadPairs = int(ceilDiv(kHeads * kPartPairs, kThreads));
/// Segments whose loads are under way at once: of 64 registers.
constexpr int kMergedLoads = int(most(32 / kThreadPairs, 1));

/// Shared memory of a block that merges.
struct MergeSpace {
  float2 factors[kHeads][kMergedSegments]; ///< of the total and of the segment
  float maxima[kHeads], sums[kHeads];
};

/// The factors of segments `first` and after; space.maxima are those of the segments before.
INGOT_DEVICE void findFactors(const float *parts, i64 stride, int first, int segments, int heads,
                              MergeSpace &space) {
  for (int row = warpIndex(); row < heads; row += kWarps) {
    int segment = first + laneIndex();
    float own = segment < segments
                    ? __ldcg(parts + segment * stride + row * kPartFloats + kValueDim)
                    : minusInfinity();
    float before = first > 0 ? space.maxima[row] : minusInfinity();
    float upTo = fmaxf(before, own); // a maximum is the same in every order
#pragma unroll
    for (int step = 1; step < kWarpSize; step *= 2) {
      float other = __shfl_up_sync(kAllLanes, upTo, step);
      upTo = laneIndex() >= step ? fmaxf(upTo, other) : upTo;
    }
    float previous = __shfl_up_sync(kAllLanes, upTo, 1);
    MergeFactors found = mergeFactors(laneIndex() > 0 ? previous : before, own);
    space.factors[row][laneIndex()] = {found.total, found.segment};
    __syncwarp();
    if (laneIndex() == kWarpSize - 1)
      space.maxima[row] = upTo;
  }
}

/// Merges segments `first` and after, as many as have factors, into this thread's pairs.
INGOT_DEVICE void mergePairs(const float *parts, i64 stride, int first, int segments, int heads,
                             const MergeSpace &space, float2 (&totals)[kThreadPairs]) {
  int count = int(least(segments - first, kMergedSegments));
#pragma unroll 1
  for (int begin = 0; begin < count; begin += kMergedLoads) {
    float2 loaded[kMergedLoads][kThreadPairs];
#pragma unroll
    for (int s = 0; s < kMergedLoads; ++s)
#pragma unroll
      for (int p = 0; p < kThreadPairs; ++p)
        if (int pair = int(threadIdx.x) + p * kThreads;
            begin + s < count && pair < heads * kPartPairs)
          loaded[s][p] =
              __ldcg(reinterpret_cast<const float2 *>(parts + (first + begin + s) * stride) + pair);
#pragma unroll
    for (int s = 0; s < kMergedLoads; ++s)
#pragma unroll
      for (int p = 0; p < kThreadPairs; ++p)
        if (int pair = int(threadIdx.x) + p * kThreads;
            begin + s < count && pair < heads * kPartPairs) {
          float2 pairFactors = space.factors[pair / kPartPairs][begin + s];
          MergeFactors factors = {pairFactors.x, pairFactors.y, 0};
          bool isFirst = first + begin + s == 0;
          float2 next = loaded[s][p];
          totals[p].x = isFirst ? next.x : mergeValue(factors, totals[p].x, next.x);
          totals[p].y = isFirst ? next.y : mergeValue(factors, totals[p].y, next.y);
        }
  }
}

/// Merges the parts of `segments` segments, which lie `stride` floats apart, each with `heads`
/// heads. Calls use(row, element, value, maximum, sum) for every element of the heads. All threads
/// call it.
template <class Use>
INGOT_DEVICE void mergeParts(const float *parts, i64 stride, int segments, int heads,
                             MergeSpace &space, Use use) {
  float2 totals[kThreadPairs] = {};
#pragma unroll 1
  for (int first = 0; first < segments; first += kMergedSegments) {
    findFactors(parts, stride, first, segments, heads, space);
    __syncthreads();
    mergePairs(parts, stride, first, segments, heads, space, totals);
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < kThreadPairs; ++p)
    if (int pair = int(threadIdx.x) + p * kThreads;
        pair < heads * kPartPairs && pair % kPartPairs == kPartPairs - 1)
      space.sums[pair / kPartPairs] = totals[p].y;
  __syncthreads();
#pragma unroll
  for (int p = 0; p < kThreadPairs; ++p) {
    int pair = int(threadIdx.x) + p * kThreads, row = pair / kPartPairs;
    int element = pair % kPartPairs * 2;
    if (pair >= heads * kPartPairs || element >= kValueDim)
      continue;
    use(row, element, totals[p].x, space.maxima[row], space.sums[row]);
    use(row, element + 1, totals[p].y, space.maxima[row], space.sums[row]);
  }
}
