// SPDX-License-Identifier: Apache-2.0
// llm.attention in f32, for types and head sizes that tensor cores do not take: one query head of
// one token a block. Buffers: query, positions, token_sequences, block_table, cache; sinks,
// reaches and rotary where there are any; result.
#include "AttentionLanes.cuh"
#include "AttentionWindow.cuh"
#include "CapScore.cuh"
#include "KvBlocks.cuh"

namespace {

constexpr int kQueryHeads = int(constants::query_heads);
constexpr int kValueDim = int(constants::value_dim);

/// One query head and the cache of its sequence.
struct Query {
  void *cache;
  const i32 *table;
  int kvHead;
  LaneHead<kHeadDim> head;

  __device__ __forceinline__ float score(i32 position) const {
    KvPlace place = KvPlace::of(cache, table, position);
    float scale = 1;
    if constexpr (kKvScaled)
      scale = *place.keyScale(kvHead);
    float product = head.times([&](int element) {
      return loadElement<constants::kv_type>(place.keys(), place.element(kvHead) + element) * scale;
    });
    return capScore(product * float(constants::scale));
  }

  __device__ __forceinline__ float value(i32 position, int element) const {
    KvPlace place = KvPlace::of(cache, table, position);
    float scale = 1;
    if constexpr (kKvScaled)
      scale = *place.valueScale(kvHead);
    return loadElement<constants::kv_type>(place.values(), place.element(kvHead) + element) * scale;
  }

  /// Positions [begin, begin + count) on their own.
  __device__ __forceinline__ Partial<kValueDim> attend(i32 begin, int count, float *scores) const {
    return ::attend<kValueDim>(
        count, scores, [&](int i) { return score(begin + i); },
        [&](int i, int element) { return value(begin + i, element); });
  }
};

} // namespace

__device__ void run(const Launch &launch) {
  __shared__ float scores[kSegment];
  i64 token = blockIdx.x;
  int head = int(blockIdx.y);
  i32 position = launch.buffer<const i32>(1)[token];
  i32 last = lastSeen(launch, token, position);
  i64 row = token * kQueryHeads + head;
  Query query = {launch.buffers[4],
                 launch.buffer<const i32>(3) +
                     launch.buffer<const i32>(2)[token] * launch.tableColumns(),
                 head / (kQueryHeads / kKvHeads),
                 {}};
  query.head.fill([&](int element) {
    constexpr int rotary = int(constants::rotary_columns), own = kHeadDim - rotary;
    if constexpr (rotary > 0)
      if (element >= own)
        return loadElement<constants::rotary_type>(launch.buffers[rotaryBuffer()],
                                                   row * rotary + element - own);
    return loadElement<constants::query_type>(launch.buffers[0], row * own + element);
  });
  Partial<kValueDim> total = {minusInfinity(), 0, {}};
  for (i32 begin = firstSeen(position); begin <= last;) {
    i32 next = (begin / kSegment + 1) * kSegment;
    merge(total, query.attend(begin, int(least(next, last + 1) - begin), scores));
    begin = next;
  }
  if constexpr (constants::sinks != 0)
    merge<kValueDim>(total, {loadElement<constants::sink_type>(launch.buffers[5], head), 1, {}});
  total.forElements([&](float value, int element) {
    storeElement<constants::result_type>(launch.buffers[resultBuffer()], row * kValueDim + element,
                                         value / total.sum);
  });
}
