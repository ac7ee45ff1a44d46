// SPDX-License-Identifier: Apache-2.0
// Sizes of attention on tensor cores, and what of a product a lane has.
#pragma once

#include "AttentionWindow.cuh"
#include "KvBlocks.cuh"

namespace absent {
/// 1: values are the first columns of keys, and lie in their tiles.
enum : i64 { latent = 0 };
} // namespace absent

constexpr int kQueryHeads = int(constants::query_heads);
constexpr int kGroup = kQueryHeads / kKvHeads; ///< query heads of a KV head
constexpr int kThreads = int(constants::threads);
constexpr int kWarps = kThreads / kWarpSize;

constexpr int kSegment = int(constants::segment);
constexpr int kTile = kHeadDim > 128 ? 32 : 64;
constexpr int kRows = 16;                  ///< rows of a product
constexpr bool kFp8 = constants::fp8 != 0; ///< e4m3 on both sides of products
constexpr int kStepElements = kFp8 ? 32 : 16;
constexpr int kSteps = kHeadDim / kStepElements; ///< products along the head
static_assert(kHeadDim % kStepElements == 0);
constexpr int kValueDim = int(constants::value_dim);
constexpr int kPairs = kValueDim / 16; ///< pairs of 8 columns of the values
constexpr int kColumnTiles = kTile / 8;

constexpr i64 kScoreType = constants::query_type;
constexpr i64 kValueType = kKvScaled ? i64(kBf16) : constants::kv_type;
constexpr int kKvBytes = kKvScaled ? 1 : 2;

constexpr bool kLatent = constants::latent != 0;

/// Bytes between rows of keys and of values in shared memory, without bank conflicts. Rows of a
/// latent cache, which are read as both, are either whole lines of 128 bytes, whose pieces of 16
/// are exchanged by swizzled(), or free of conflicts as keys.
constexpr int kRowBytes = kHeadDim * kKvBytes;
constexpr int kKeyUnit = kStepElements * kKvBytes;
constexpr bool kSwizzled = kLatent && kRowBytes % 128 == 0;
constexpr int kKeyStride = kRowBytes + (!kSwizzled && kRowBytes / kKeyUnit % 2 == 0 ? kKeyUnit : 0);
constexpr int kValueStride = kLatent ? kKeyStride : kRowBytes + 16;
constexpr int kKeyBytes = kTile * kKeyStride;
constexpr int kValueBytes = kTile * kValueStride;
constexpr int kScaleBytes = kKvScaled ? kTile * 4 : 0;

INGOT_DEVICE float minusInfinity() { return __uint_as_float(0xff800000); }
INGOT_DEVICE int laneIndex() { return int(threadIdx.x) % kWarpSize; }
INGOT_DEVICE int warpIndex() { return int(threadIdx.x) / kWarpSize; }
/// Row (and row + 8) and first column of the pairs that this lane has in products.
INGOT_DEVICE int laneRow() { return laneIndex() / 4; }
INGOT_DEVICE int laneColumn() { return laneIndex() % 4 * 2; }
/// Where byte `byte` of row `row` of keys, or of a latent's values, lies behind the row's begin:
/// four rows' 32 bytes, and eight rows' 16, are in different banks.
INGOT_DEVICE int swizzled(int row, int byte) {
  return kSwizzled ? byte ^ ((row & 3) << 5 | (row & 4) << 2) : byte;
}
