// SPDX-License-Identifier: Apache-2.0
// llm.latent_append: a warp is one token. Buffers: latent, rotary, positions, token_sequences,
// block_table, cache.
#include "CacheWriter.cuh"

namespace {

constexpr int kLatent = int(constants::value_dim), kRotary = kHeadDim - kLatent;
/// Whether no run of kLaneWidth elements belongs to both parts.
constexpr bool kWholeRuns = kLatent % kLaneWidth == 0;

/// Elements `element` of a key and after, as many as `values` has.
template <int Count>
INGOT_DEVICE void loadKey(const Launch &launch, i64 token, int element, float (&values)[Count]) {
  if (element < kLatent)
    loadElements<constants::latent_type>(launch.buffers[0], token * kLatent + element, values);
  else
    loadElements<constants::rotary_type>(launch.buffers[1], token * kRotary + element - kLatent,
                                         values);
}

INGOT_DEVICE void loadRun(const Launch &launch, i64 token, int element,
                          float (&values)[kLaneWidth]) {
  if constexpr (kWholeRuns)
    loadKey(launch, token, element, values);
  else
#pragma unroll
    for (int i = 0; i < kLaneWidth; ++i) {
      float value[1];
      loadKey(launch, token, element + i, value);
      values[i] = value[0];
    }
}

} // namespace

__device__ void run(const Launch &launch) {
  i64 token = blockIdx.x;
  KvPlace place = kvPlaceOf(launch, launch.buffers[5], launch.buffer<const i32>(2),
                            launch.buffer<const i32>(3), launch.buffer<const i32>(4), token);
  Head head = {};
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    if (isInLow(piece))
      loadRun(launch, token, headElement(piece), head.low[piece]);
    if (isInHigh(piece))
      loadRun(launch, token, kHalf + headElement(piece), head.high[piece]);
  }
  appendHead(head, place.keys(), place.element(0), place.keyScale(0), nullptr);
}
