// SPDX-License-Identifier: Apache-2.0
// The ring of stages in shared memory that MatmulTensor fills with asynchronous copies: weights as
// packed, inputs row by row, and the scales and zeros of the stage's groups.
#pragma once

#include "MatmulFragments.cuh"

namespace matmul {

constexpr int kThreads = int(constants::threads);
constexpr int kRowTiles = int(constants::warps_along * constants::row_tiles);
constexpr int kTileTokens = int(constants::warps_across * constants::token_blocks * 8);
constexpr int kTileRows = kRowTiles * 16;
constexpr int kTileDepth = int(constants::tile_depth); ///< columns of k in a stage
constexpr int kStages = int(constants::stages);
constexpr int kInputBytes = int(elementBytes(constants::input_type));
constexpr int kRowBytes = kTileDepth * kInputBytes; ///< of a token in a stage
static_assert(kRowBytes >= 128, "eight tokens' chunks must reach all banks");

/// Groups along k, scaled one by one; without them scales are applied to whole sums.
constexpr bool kGrouped = constants::group > 0;
constexpr int kGroup = kGrouped ? int(constants::group) : kTileDepth;
constexpr int kStageGroups = kTileDepth > kGroup ? kTileDepth / kGroup : 1;
constexpr int kScaleBytes = kGrouped ? 16 * int(elementBytes(constants::scale_type)) : 0;
constexpr int kZeroBytes = kGrouped && kZeroPoints ? 16 : 0;
constexpr i64 kGroups = ceilDiv(kDepth, kGroup);

/// Packed weights: tiles of 16 rows, in each blocks of kBlockDepth columns of 512 bytes.
constexpr int kBlockBytes = 512;
constexpr i64 kWeightTiles = ceilDiv(constants::weight_rows, 16);
constexpr i64 kWeightBlocks = ceilDiv(kDepth, kBlockDepth);
constexpr int kStageBlocks = kTileDepth / kBlockDepth;

// Offsets within a stage.
constexpr int kWeightsBytes = kRowTiles * kStageBlocks * kBlockBytes;
constexpr int kInputsOffset = kWeightsBytes;
constexpr int kScalesOffset = kInputsOffset + kTileTokens * kRowBytes;
constexpr int kZerosOffset = kScalesOffset + kRowTiles * kStageGroups * kScaleBytes;
constexpr int kStageBytes = kZerosOffset + kRowTiles * kStageGroups * kZeroBytes;
static_assert(kStages * kStageBytes <= constants::shared_bytes, "the provider counts alike");

/// What a block works on.
struct Tile {
  i64 firstTile; ///< of 16 rows of the weight
  i64 firstToken;
  i64 tokens; ///< of the launch
};

/// Copies `Chunks` chunks of 16 bytes, spread over the block; `place(i, from, to)` says whether
/// chunk i exists, and where it is and goes. Chunks that do not exist become zeros.
template <int Chunks, class Place> INGOT_DEVICE void copyChunks(const void *any, Place place) {
#pragma unroll
  for (int first = 0; first < Chunks; first += kThreads) {
    int i = first + int(threadIdx.x);
    if (Chunks % kThreads != 0 && i >= Chunks)
      break;
    const u8 *from = static_cast<const u8 *>(any);
    u32 to = 0;
    bool exists = place(i, from, to);
    ptx::copyAsync16(to, exists ? from : any, exists ? 16 : 0);
  }
}

INGOT_DEVICE void copyWeights(const Launch &launch, const Tile &tile, u32 stage, i64 k) {
  constexpr int chunks = kStageBlocks * kBlockBytes / 16; // of a tile of 16 rows
  const void *weights = launch.buffers[kWeight];
  i64 firstBlock = k / kBlockDepth;
  copyChunks<kRowTiles * chunks>(weights, [&](int i, const u8 *&from, u32 &to) {
    i64 row = tile.firstTile + i / chunks;
    from += (row * kWeightBlocks + firstBlock) * kBlockBytes + i % chunks * 16;
    to = stage + i * 16;
    return row < kWeightTiles && firstBlock + i % chunks / (kBlockBytes / 16) < kWeightBlocks;
  });
  if constexpr (kScaleBytes > 0) {
    constexpr int scaleChunks = kStageGroups * kScaleBytes / 16;
    i64 firstGroup = k / kGroup;
    copyChunks<kRowTiles * scaleChunks>(
        launch.buffers[kScales], [&](int i, const u8 *&from, u32 &to) {
          i64 row = tile.firstTile + i / scaleChunks;
          from += (row * kGroups + firstGroup) * kScaleBytes + i % scaleChunks * 16;
          to = stage + kScalesOffset + i * 16;
          return row < kWeightTiles && firstGroup + i % scaleChunks / (kScaleBytes / 16) < kGroups;
        });
  }
  if constexpr (kZeroBytes > 0) {
    i64 firstGroup = k / kGroup;
    copyChunks<kRowTiles * kStageGroups>(
        launch.buffers[kZeros], [&](int i, const u8 *&from, u32 &to) {
          i64 row = tile.firstTile + i / kStageGroups;
          from += (row * kGroups + firstGroup) * kZeroBytes + i % kStageGroups * 16;
          to = stage + kZerosOffset + i * 16;
          return row < kWeightTiles && firstGroup + i % kStageGroups < kGroups;
        });
  }
}

/// Address of chunk `chunk` (16 bytes) of token `token` within the inputs of a stage: chunks are
/// exchanged so that equal ones of eight tokens lie in different banks.
INGOT_DEVICE u32 inputPlace(int token, int chunk) {
  return u32(kInputsOffset + token * kRowBytes + (chunk ^ (token & 7)) * 16);
}

INGOT_DEVICE void copyInputs(const Launch &launch, const Tile &tile, u32 stage, i64 k) {
  constexpr int chunks = kRowBytes / 16;
  copyChunks<kTileTokens * chunks>(launch.buffers[kInput], [&](int i, const u8 *&from, u32 &to) {
    int token = i / chunks, chunk = i % chunks;
    i64 column = k + chunk * (16 / kInputBytes);
    from += ((tile.firstToken + token) * kDepth + column) * kInputBytes;
    to = stage + inputPlace(token, chunk);
    return tile.firstToken + token < tile.tokens && column < kDepth;
  });
}

} // namespace matmul
