// SPDX-License-Identifier: Apache-2.0
// Attention in f32 of one query head of one row by one block, over segments of positions. Within a
// segment a score is the sum over the head's elements that a lane has in order, then over lanes as
// warpSum does; weighted values are summed in order of positions. One block does all segments of a
// row, so nothing else can change the numbers.
#pragma once

#include "Reductions.cuh"
#include "RegionMath.cuh"

constexpr int kThreads = int(constants::threads);
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kSegment = int(constants::segment);

INGOT_DEVICE float minusInfinity() { return __uint_as_float(0xff800000); }

/// A head of `Columns` as a warp holds it: lane l has elements l, l + 32, ...
template <int Columns> struct LaneHead {
  float elements[ceilDiv(Columns, kWarpSize)];

  /// use(i, element) of each of this lane's.
  template <class Use> static __device__ __forceinline__ void forElements(Use use) {
#pragma unroll
    for (int i = 0; i < int(ceilDiv(Columns, kWarpSize)); ++i) {
      int element = int(threadIdx.x) % kWarpSize + i * kWarpSize;
      if (element < Columns)
        use(i, element);
    }
  }
  /// load(element) gives one.
  template <class Load> __device__ __forceinline__ void fill(Load load) {
    forElements([&](int i, int element) { elements[i] = load(element); });
  }
  /// Times another head; every lane gets it.
  template <class Load> __device__ __forceinline__ float times(Load load) const {
    float sum = 0;
    forElements([&](int i, int element) { sum += elements[i] * load(element); });
    return warpSum(sum);
  }
};

/// What attention over some positions has come to, for this thread's elements of values.
template <int Columns> struct Partial {
  float maximum, sum;
  float values[ceilDiv(Columns, kThreads)];

  /// use(value, element) of each of this thread's.
  template <class Use> __device__ __forceinline__ void forElements(Use use) {
#pragma unroll
    for (int e = 0; e < int(ceilDiv(Columns, kThreads)); ++e) {
      int element = int(threadIdx.x) + e * kThreads;
      if (element < Columns)
        use(values[e], element);
    }
  }
};

/// `count` positions of a segment on their own: a warp gets score(i), a thread value(i, element) of
/// the i-th.
template <int Columns, class Score, class Value>
INGOT_DEVICE Partial<Columns> attend(int count, float *scores, Score score, Value value) {
  Partial<Columns> partial = {};
  for (int i = int(threadIdx.x) / kWarpSize; i < count; i += kWarps) {
    float of = score(i);
    if (threadIdx.x % kWarpSize == 0)
      scores[i] = of;
  }
  __syncthreads();
  float largest = minusInfinity();
  for (int i = int(threadIdx.x); i < count; i += kThreads)
    largest = fmaxf(largest, scores[i]);
  partial.maximum = blockMax<kThreads>(largest);
  float sum = 0;
  for (int i = int(threadIdx.x); i < count; i += kThreads) {
    scores[i] = region::exponential(scores[i] - partial.maximum);
    sum += scores[i];
  }
  partial.sum = blockSum<kThreads>(sum);
  for (int i = 0; i < count; ++i)
    partial.forElements(
        [&](float &total, int element) { total += scores[i] * value(i, element); });
  __syncthreads();
  return partial;
}

/// Takes the next segment into the total.
template <int Columns>
INGOT_DEVICE void merge(Partial<Columns> &total, const Partial<Columns> &segment) {
  float maximum = fmaxf(segment.maximum, total.maximum);
  float before = region::exponential(total.maximum - maximum);
  float now = region::exponential(segment.maximum - maximum);
  total.sum = total.sum * before + segment.sum * now;
#pragma unroll
  for (int e = 0; e < int(ceilDiv(Columns, kThreads)); ++e)
    total.values[e] = total.values[e] * before + segment.values[e] * now;
  total.maximum = maximum;
}
