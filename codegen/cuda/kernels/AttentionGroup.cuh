// SPDX-License-Identifier: Apache-2.0
// Attention over a latent cache by warp groups (wgmma), which sm_90a has: 64 rows by a part of the
// positions of a tile, and 64 rows by a part of its columns. The query is in shared memory as far
// as values go, and in registers behind that. Numbers as AttentionTile.cuh has them, but for the
// bits that sums of wgmma keep.
#pragma once

#include "AttentionTile.cuh"
#include "PtxWarpGroup.cuh"

namespace group {

constexpr int kGroupRows = 64;
constexpr int kSharedSteps = kValueDim / kStepElements, kRestSteps = kSteps - kSharedSteps;

/// Keeps reads and writes of sums, or of what is multiplied, on their side of a wait or a fence.
template <int Count, int Each> INGOT_DEVICE void pinAll(float (&sums)[Count][Each]) {
#pragma unroll
  for (int i = 0; i < Count * Each; ++i)
    ptx::pin(sums[i / Each][i % Each]);
}

/// What of a query is in registers.
using Rest = u32[kRestSteps > 0 ? kRestSteps : 1][4];

/// Where byte `byte` of row `row` of the query lies in shared memory.
INGOT_DEVICE int queryPlace(int row, int byte) {
  return byte / kLine * (kGroupRows * kLine) + row * kLine + (byte % kLine ^ (row & 7) << 4);
}

/// Loads fragments of what is in registers: rows that begin at `row` and `below`; null: zeros.
INGOT_DEVICE void loadRest(const u16 *row, const u16 *below, Rest &rest) {
  auto pair = [](const u16 *from, int element) {
    return from ? *reinterpret_cast<const u32 *>(from + element) : 0;
  };
#pragma unroll
  for (int step = 0; step < kRestSteps; ++step)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      rest[step][i] = pair(i % 2 ? below : row, step * kStepElements + i / 2 * 8 + laneColumn());
}

/// Scores of the rows with 8 * Tiles positions. `query` and `keys`: addresses in shared memory, of
/// the first row of each.
template <int Tiles>
INGOT_DEVICE void scoreTile(u32 query, const Rest &rest, u32 keys, float (&scores)[Tiles][4]) {
  using Product = ptx::GroupProduct<Tiles>;
  auto placeOf = [](u32 first, int step, int rows) {
    int byte = step * kStepElements * kKvBytes;
    return ptx::swizzledOperand(first + byte / kLine * (rows * kLine) + byte % kLine);
  };
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scores[tile][i] = 0;
  pinAll(scores);
  ptx::beginProducts();
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    u64 key = placeOf(keys, step, kTile);
    if (step < kSharedSteps) {
      if constexpr (kScoreType == kBf16)
        Product::bf16(scores, placeOf(query, step, kGroupRows), key, 1);
      else
        Product::f16(scores, placeOf(query, step, kGroupRows), key, 1);
    } else {
      if constexpr (kScoreType == kBf16)
        Product::bf16(scores, rest[step - kSharedSteps], key, 1);
      else
        Product::f16(scores, rest[step - kSharedSteps], key, 1);
    }
  }
  ptx::commitProducts();
  ptx::waitProducts<0>();
  pinAll(scores);
}

/// sums += weights times values, 8 * Blocks columns of them. `values`: the address of the first.
template <int Blocks>
INGOT_DEVICE void addValues(const float (&weights)[kColumnTiles][4], u32 values,
                            float (&sums)[Blocks][4]) {
  u32 parts[kTile / 16][2][4]; // the rounded weights, and what rounding left
#pragma unroll
  for (int step = 0; step < kTile / 16; ++step)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float (&tile)[4] = weights[2 * step + i / 2];
      float low = tile[i % 2 * 2], high = tile[i % 2 * 2 + 1];
      u32 rounded = packHalves<kValueType>(low, high);
      parts[step][0][i] = rounded;
      parts[step][1][i] = packHalves<kValueType>(low - lowHalf<kValueType>(rounded),
                                                 high - highHalf<kValueType>(rounded));
      ptx::pin(parts[step][0][i]);
      ptx::pin(parts[step][1][i]);
    }
  pinAll(sums);
  ptx::beginProducts();
#pragma unroll
  for (int step = 0; step < kTile / 16; ++step)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      u64 rows = ptx::swizzledRowsOperand(values + step * 16 * kLine, kTile * kLine);
      if constexpr (kValueType == kBf16)
        ptx::GroupProduct<Blocks>::bf16Rows(sums, parts[step][part], rows, 1);
      else
        ptx::GroupProduct<Blocks>::f16Rows(sums, parts[step][part], rows, 1);
    }
  ptx::commitProducts();
  ptx::waitProducts<0>();
  pinAll(sums);
}

} // namespace group
