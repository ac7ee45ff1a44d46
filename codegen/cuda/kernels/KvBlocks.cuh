// SPDX-License-Identifier: Apache-2.0
// Addresses in a paged KV cache, by the layout of !llm.kv, and heads as warps hold them.
#pragma once

#include "Rows.cuh"

/// Whether elements have scales.
constexpr bool kKvScaled =
    constants::kv_type == kI8 || constants::kv_type == kE4m3 || constants::kv_type == kE5m2;
constexpr int kHeadDim = int(constants::head_dim);
constexpr int kKvHeads = int(constants::kv_heads);

/// One position of one sequence in the cache.
struct KvPlace {
  u8 *block;
  int place;

  /// `table`: the sequence's row of the block table.
  static __device__ __forceinline__ KvPlace of(void *cache, const i32 *table, i32 position) {
    i64 block = table[position / int(constants::block_tokens)];
    return {static_cast<u8 *>(cache) + block * constants::block_bytes,
            position % int(constants::block_tokens)};
  }

  __device__ __forceinline__ u8 *keys() const { return block; }
  __device__ __forceinline__ u8 *values() const { return block + constants::values_offset; }
  /// Index of the head's first element at this place.
  __device__ __forceinline__ i64 element(int head) const { return i64(slot(head)) * kHeadDim; }

  __device__ __forceinline__ float *keyScale(int head) const {
    return reinterpret_cast<float *>(block + constants::key_scales_offset) + slot(head);
  }
  __device__ __forceinline__ float *valueScale(int head) const {
    return reinterpret_cast<float *>(block + constants::value_scales_offset) + slot(head);
  }

private:
  __device__ __forceinline__ int slot(int head) const {
    return head * int(constants::block_tokens) + place;
  }
};

/// Where a token's keys and values lie.
INGOT_DEVICE KvPlace kvPlaceOf(const Launch &launch, void *cache, const i32 *positions,
                               const i32 *tokenSequences, const i32 *blockTable, i64 token) {
  const i32 *table = blockTable + tokenSequences[token] * launch.tableColumns();
  return KvPlace::of(cache, table, positions[token]);
}

/// A head's elements as a warp holds them: two halves, for the pairs of rotary embedding. Lane l
/// has elements kLaneWidth * (l + 32 * piece) and on of either half.
constexpr int kHalf = (kHeadDim + 1) / 2;
constexpr int kLaneWidth = kHeadDim % 4 == 0 ? 2 : 1;
constexpr int kPieces = int(ceilDiv(kHalf, kLaneWidth *kWarpSize));
struct Head {
  float low[kPieces][kLaneWidth], high[kPieces][kLaneWidth];
};

/// First element of a piece within its half, and whether elements are left there.
INGOT_DEVICE int headElement(int piece) {
  return (piece * kWarpSize + int(threadIdx.x) % kWarpSize) * kLaneWidth;
}
INGOT_DEVICE bool isInLow(int piece) { return headElement(piece) < kHalf; }
INGOT_DEVICE bool isInHigh(int piece) { return headElement(piece) + kHalf < kHeadDim; }

template <i64 Code> INGOT_DEVICE Head loadHead(const void *from, i64 first) {
  Head head = {};
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    if (isInLow(piece))
      loadElements<Code>(from, first + headElement(piece), head.low[piece]);
    if (isInHigh(piece))
      loadElements<Code>(from, first + kHalf + headElement(piece), head.high[piece]);
  }
  return head;
}

template <i64 Code> INGOT_DEVICE void storeHead(void *to, i64 first, const Head &head) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    if (isInLow(piece))
      storeElements<Code>(to, first + headElement(piece), head.low[piece]);
    if (isInHigh(piece))
      storeElements<Code>(to, first + kHalf + headElement(piece), head.high[piece]);
  }
}

/// Calls `change` on every element of `head`, those past its end included.
template <class Change> INGOT_DEVICE void forElements(Head &head, Change change) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece)
#pragma unroll
    for (int i = 0; i < kLaneWidth; ++i) {
      change(head.low[piece][i]);
      change(head.high[piece][i]);
    }
}
