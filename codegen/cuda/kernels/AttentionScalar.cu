// SPDX-License-Identifier: Apache-2.0
// llm.attention in f32, for types and head sizes that tensor cores do not take: one query head of
// one token a block. Within a segment of positions a score is the sum over the head's elements
// that a lane has in order, then over lanes as warpSum does; weighted values are summed in order of
// positions. One block does all segments of a token, so nothing else can change the numbers.
// Buffers: query, positions, token_sequences, block_table, cache, sinks where there are any,
// result.
#include "AttentionWindow.cuh"
#include "CapScore.cuh"
#include "KvBlocks.cuh"

namespace {

constexpr int kThreads = int(constants::threads);
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kSegment = int(constants::segment);
constexpr int kQueryHeads = int(constants::query_heads);
/// Elements of a head that a thread accumulates, and that a lane multiplies.
constexpr int kThreadElements = int(ceilDiv(kHeadDim, kThreads));
constexpr int kLaneElements = int(ceilDiv(kHeadDim, kWarpSize));

INGOT_DEVICE float minusInfinity() { return __uint_as_float(0xff800000); }

/// One query head and the cache of its sequence.
struct Query {
  void *cache;
  const i32 *table;
  int kvHead;
  float elements[kLaneElements]; ///< lane l has elements l, l + 32, ...

  __device__ __forceinline__ float score(i32 position) const {
    KvPlace place = KvPlace::of(cache, table, position);
    float sum = 0, scale = 1;
    if constexpr (kKvScaled)
      scale = *place.keyScale(kvHead);
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) {
      int element = int(threadIdx.x) % kWarpSize + i * kWarpSize;
      if (element < kHeadDim)
        sum += elements[i] *
               (loadElement<constants::kv_type>(place.keys(), place.element(kvHead) + element) *
                scale);
    }
    return capScore(warpSum(sum) * float(constants::scale));
  }
};

/// What attention over some positions has come to, for this thread's elements.
struct Partial {
  float maximum, sum;
  float values[kThreadElements];
};

/// Positions [begin, begin + count) on their own.
INGOT_DEVICE Partial attend(const Query &query, i32 begin, int count, float *scores) {
  Partial partial = {};
  for (int i = int(threadIdx.x) / kWarpSize; i < count; i += kWarps) {
    float score = query.score(begin + i);
    if (threadIdx.x % kWarpSize == 0)
      scores[i] = score;
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
  for (int i = 0; i < count; ++i) {
    KvPlace place = KvPlace::of(query.cache, query.table, begin + i);
    float scale = 1;
    if constexpr (kKvScaled)
      scale = *place.valueScale(query.kvHead);
#pragma unroll
    for (int e = 0; e < kThreadElements; ++e) {
      int element = int(threadIdx.x) + e * kThreads;
      if (element < kHeadDim)
        partial.values[e] +=
            scores[i] * (loadElement<constants::kv_type>(place.values(),
                                                         place.element(query.kvHead) + element) *
                         scale);
    }
  }
  __syncthreads();
  return partial;
}

/// Takes the next segment into the total.
INGOT_DEVICE void merge(Partial &total, const Partial &segment) {
  float maximum = fmaxf(segment.maximum, total.maximum);
  float before = region::exponential(total.maximum - maximum);
  float now = region::exponential(segment.maximum - maximum);
  total.sum = total.sum * before + segment.sum * now;
#pragma unroll
  for (int e = 0; e < kThreadElements; ++e)
    total.values[e] = total.values[e] * before + segment.values[e] * now;
  total.maximum = maximum;
}

} // namespace

__device__ void run(const Launch &launch) {
  __shared__ float scores[kSegment];
  i64 token = blockIdx.x;
  int head = int(blockIdx.y);
  i32 position = launch.buffer<const i32>(1)[token];
  i64 first = (token * kQueryHeads + head) * kHeadDim;
  Query query = {launch.buffers[4],
                 launch.buffer<const i32>(3) +
                     launch.buffer<const i32>(2)[token] * launch.tableColumns(),
                 head / (kQueryHeads / kKvHeads),
                 {}};
#pragma unroll
  for (int i = 0; i < kLaneElements; ++i) {
    int element = int(threadIdx.x) % kWarpSize + i * kWarpSize;
    if (element < kHeadDim)
      query.elements[i] = loadElement<constants::query_type>(launch.buffers[0], first + element);
  }
  Partial total = {minusInfinity(), 0, {}};
  for (i32 begin = firstSeen(position); begin <= position;) {
    i32 next = (begin / kSegment + 1) * kSegment;
    merge(total, attend(query, begin, int(least(next, position + 1) - begin), scores));
    begin = next;
  }
  if constexpr (constants::sinks != 0)
    merge(total, {loadElement<constants::sink_type>(launch.buffers[5], head), 1, {}});
#pragma unroll
  for (int e = 0; e < kThreadElements; ++e) {
    int element = int(threadIdx.x) + e * kThreads;
    if (element < kHeadDim)
      storeElement<constants::result_type>(launch.buffers[5 + constants::sinks], first + element,
                                           total.values[e] / total.sum);
  }
}
