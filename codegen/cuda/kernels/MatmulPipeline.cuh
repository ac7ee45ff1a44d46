// SPDX-License-Identifier: Apache-2.0
// The ring of stages in shared memory that tensor-core templates fill with asynchronous copies:
// weights as packed, inputs row by row, and the scales, zeros and super-block scales of the stage's
// groups. From sm_90 on what belongs to the weight comes by tensor copies. Inputs do so in
// MatmulGroup alone, behind a fence: kernels before have written them with ordinary stores.
#pragma once

#include "MatmulFragments.cuh"

namespace matmul {

/// Of the block, those that multiply: the first. Others bring what they multiply.
constexpr int kThreads = int(constants::threads - constants::producer_threads);
constexpr int kRowTiles = int(constants::warps_along * constants::row_tiles);
constexpr int kTileTokens = int(constants::warps_across * constants::token_blocks * 8);
constexpr int kTileRows = kRowTiles * 16;
constexpr int kTileDepth = int(constants::tile_depth); ///< columns of k in a stage
constexpr int kStages = int(constants::stages);
constexpr int kInputBytes = elementBits(constants::input_type) / 8;
constexpr int kRowBytes = kTileDepth * kInputBytes; ///< of a token in a stage
static_assert(kRowBytes >= 128, "eight tokens' chunks must reach all banks");

/// Groups along k, scaled one by one; without them scales are applied to whole sums.
constexpr bool kGrouped = constants::group > 0;
constexpr int kGroup = kGrouped ? int(constants::group) : kTileDepth;
/// Columns at whose multiples groups may end.
constexpr int kGroupStep = kGroup % 32 == 0 ? 32 : 16;
constexpr int kStageGroups = kTileDepth > kGroup ? kTileDepth / kGroup : 1;
/// Scales are codes, which a stage's super-block scales or a table of the kernel give numbers.
constexpr bool kScaleCodes = constants::scale_form != kPlainScales;
/// Groups whose codes lie together.
constexpr int kCodeGroups = 8;
/// Numbers of a group: its scale, and where there is one its offset.
constexpr int kParts = kAddsOffsets ? 2 : 1;

/// Packed numbers by group: for tiles of 16 rows, records of `Bytes` bytes (0: there are none) for
/// `Columns` columns of k.
template <int Columns, int Bytes> struct Records {
  static constexpr int kBytes = Bytes;
  /// In a stage, of one tile.
  static constexpr int kCount = kTileDepth > Columns ? kTileDepth / Columns : 1;
  static constexpr int kTileBytes = kCount * Bytes;
  /// Of all columns.
  static constexpr i64 kAll = ceilDiv(kDepth, Columns);

  static __device__ int at(int k) { return k / Columns; }
};

template <bool Codes> struct NumbersOf {
  using Type = Records<kGroup, kGrouped ? 16 * elementBits(constants::scale_type) / 8 : 0>;
};
template <> struct NumbersOf<true> {
  using Type =
      Records<kCodeGroups * kGroup, kCodeGroups * 16 * elementBits(constants::scale_type) / 8>;
};
using Scales = NumbersOf<kScaleCodes>::Type;
template <i64 Zeros> struct ZerosOf {
  using Type = Records<kGroup, 0>;
};
template <> struct ZerosOf<kZeroPoints> {
  using Type = Records<kGroup, kGrouped ? 16 : 0>;
};
template <> struct ZerosOf<kOffsets> {
  using Type = Scales;
};
using Zeros = ZerosOf<constants::zeros>::Type;
constexpr bool kHasBlockSuperScales = constants::scale_form == kBlockScales;
constexpr int kSuperBytes = 16 * kParts * elementBits(constants::super_type) / 8;
using SuperScales = Records<int(kSuperColumns), kHasBlockSuperScales ? kSuperBytes : 0>;

/// Packed weights: tiles of 16 rows, in each blocks of kBlockDepth columns.
constexpr i64 kWeightTiles = ceilDiv(kAllWeightRows, 16); ///< of all experts
constexpr i64 kExpertTiles = ceilDiv(constants::weight_rows, 16);
static_assert(constants::experts < 2 || constants::weight_rows % 16 == 0);
using Weights = Records<kBlockDepth, kBlockBytes>;

/// Whether a warp behind those that multiply brings all they multiply, by tensor copies.
constexpr bool kProduces = constants::producer_threads > 0;
constexpr u32 kCopyingWarp = kProduces ? kThreads / 32 : 0;
/// Whether tensor copies bring weights, scales and zeros; then each stage has a barrier.
constexpr bool kTensorCopies = constants::tensor_maps > 0;
/// What tensor copies write stands at multiples of this.
constexpr int kTensorAlignment = 128;

// Offsets within a stage.
constexpr int kWeightsBytes = kRowTiles * Weights::kTileBytes;
/// Of the inputs, and so of stages.
constexpr int kInputAlignment = int(constants::input_alignment);
constexpr int kInputsOffset = int(roundUp(kWeightsBytes, kInputAlignment));
constexpr int kScalesOffset = kInputsOffset + kTileTokens * kRowBytes;
constexpr int kZerosOffset = kScalesOffset + kRowTiles * Scales::kTileBytes;
constexpr int kSuperScalesOffset = kZerosOffset + kRowTiles * Zeros::kTileBytes;
constexpr int kBarrierOffset = kSuperScalesOffset + kRowTiles * SuperScales::kTileBytes;
constexpr int kStageBytes =
    int(roundUp(kBarrierOffset + (kTensorCopies ? kTensorAlignment : 0), kInputAlignment));
static_assert(kStages * kStageBytes <= constants::shared_bytes, "the provider counts alike");
static_assert(!kTensorCopies ||
              (kStageBytes % kTensorAlignment == 0 && kScalesOffset % kTensorAlignment == 0 &&
               kZerosOffset % kTensorAlignment == 0 && kSuperScalesOffset % kTensorAlignment == 0));
/// Bytes that tensor copies bring to a stage.
constexpr int kTensorBytes = kWeightsBytes + kBarrierOffset - kScalesOffset;

/// Whether one tile of tokens reads the weight, which then need not stay in L2. Several tiles find
/// there what the first one has read.
constexpr bool kReadOnce = constants::weights_once != 0;

/// What a block works on.
struct Tile {
  i64 firstTile; ///< of 16 rows of the expert's weight
  Tokens tokens;

  /// The same of all experts' weights.
  __device__ i64 firstOfAll() const { return tokens.expert * kExpertTiles + firstTile; }
};

/// Whether k ends with a stage, so that no copy reaches beyond it.
constexpr bool kWholeStages = kDepth % kTileDepth == 0;

/// A thread's part of copying `Rows` rows of `PerRow` chunks of 16 bytes, which lie `Pitch` bytes
/// apart in global memory and side by side in a stage. What does not change from stage to stage is
/// worked out once. Rows and chunks that do not exist become zeros; `AllRows`: every row exists.
/// `Once`: the chunks need not stay in L2.
template <int Rows, int PerRow, i64 Pitch, bool AllRows, bool Once> struct Copies {
  // A thread's chunks lie in one column; threads that make no whole row copy nothing.
  static constexpr int kRowsAtOnce = kThreads / PerRow;

  const u8 *from; ///< of the thread's first chunk
  int chunk = int(threadIdx.x) % PerRow;
  int rowsLeft; ///< from the thread's first row on

  __device__ Copies(const void *rows, i64 firstRow, i64 allRows) {
    i64 row = firstRow + int(threadIdx.x) / PerRow;
    from = static_cast<const u8 *>(rows) + row * Pitch + chunk * 16;
    rowsLeft = int(most(allRows - row, 0));
  }

  /// Copies the chunks from byte `offset` of the rows on, of which `chunksLeft` exist. `to`: the
  /// place in shared memory of the thread's first chunk.
  __device__ void copy(u32 to, int offset, int chunksLeft) const {
    if (kThreads % PerRow != 0 && int(threadIdx.x) >= kRowsAtOnce * PerRow)
      return;
#pragma unroll
    for (int first = 0; first < Rows; first += kRowsAtOnce) {
      if (first + kRowsAtOnce > Rows && int(threadIdx.x) / PerRow >= Rows - first)
        break;
      bool exists = (AllRows || first < rowsLeft) && (kWholeStages || chunk < chunksLeft);
      u32 chunkTo = to + first * PerRow * 16, bytes = exists ? 16 : 0;
      if constexpr (Once)
        ptx::copyAsync16(chunkTo, from + first * Pitch + offset, bytes, ptx::evictFirst());
      else
        ptx::copyAsync16(chunkTo, from + first * Pitch + offset, bytes);
    }
  }
};

/// The same of rows that stand anywhere.
template <int Rows, int PerRow, i64 Pitch> struct GatheredCopies {
  static_assert(kThreads % PerRow == 0, "a thread's chunks lie in one column");
  static constexpr int kRowsAtOnce = kThreads / PerRow, kPasses = int(ceilDiv(Rows, kRowsAtOnce));

  const u8 *from[kPasses]; ///< of the thread's chunks
  int chunk = int(threadIdx.x) % PerRow;
  int rowsLeft;

  __device__ GatheredCopies(const void *rows, const Tokens &tokens) {
    int own = int(threadIdx.x) / PerRow;
    rowsLeft = int(tokens.count) - own;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      int place = own + i * kRowsAtOnce;
      i64 row = place < tokens.count ? tokens.input(place) : 0;
      from[i] = static_cast<const u8 *>(rows) + row * Pitch + chunk * 16;
    }
  }

  __device__ void copy(u32 to, int offset, int chunksLeft) const {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      constexpr bool whole = Rows % kRowsAtOnce == 0;
      if (!whole && int(threadIdx.x) / PerRow >= Rows - i * kRowsAtOnce)
        break;
      bool exists = i * kRowsAtOnce < rowsLeft && (kWholeStages || chunk < chunksLeft);
      ptx::copyAsync16(to + i * kRowsAtOnce * PerRow * 16, from[i] + offset, exists ? 16 : 0);
    }
  }
};

/// Address of chunk `chunk` (16 bytes) of token `token` within the inputs of a stage: chunks are
/// exchanged so that equal ones of eight tokens lie in different banks.
INGOT_DEVICE u32 inputPlace(int token, int chunk) {
  return u32(kInputsOffset + token * kRowBytes + (chunk ^ (token & 7)) * 16);
}

/// Copies of one tensor's records to their part of a stage, `Offset` bytes behind its begin.
template <class Kind, int Offset, bool AllTiles> struct RecordCopies {
  static constexpr int kChunks = Kind::kTileBytes / 16;

  Copies<kRowTiles, kChunks, Kind::kAll * Kind::kBytes, AllTiles, kReadOnce> rows;

  __device__ RecordCopies(const Launch &launch, int buffer, i64 firstTile)
      : rows(launch.buffers[buffer], firstTile, kWeightTiles) {}

  /// `to`: the place of the thread's first chunk in the stage.
  __device__ void copy(u32 to, int k) const {
    int record = Kind::at(k);
    rows.copy(to + Offset, record * Kind::kBytes, (int(Kind::kAll) - record) * (Kind::kBytes / 16));
  }
};
template <class Kind, int Offset, bool AllTiles>
  requires(Kind::kBytes == 0)
struct RecordCopies<Kind, Offset, AllTiles> {
  __device__ RecordCopies(const Launch &, int, i64) {}
  __device__ void copy(u32, int) const {}
};

/// A thread's part of bringing weights and what goes with them, by copies of 16 bytes.
struct WeightCopies {
  static constexpr bool kAllTiles = kExpertTiles % kRowTiles == 0;
  RecordCopies<Weights, 0, kAllTiles> weights;
  RecordCopies<Scales, kScalesOffset, kAllTiles> scales;
  RecordCopies<Zeros, kZerosOffset, kAllTiles> zeros;
  RecordCopies<SuperScales, kSuperScalesOffset, kAllTiles> superScales;

  __device__ WeightCopies(const Launch &launch, const Tile &tile, u32)
      : weights(launch, kWeight, tile.firstOfAll()), scales(launch, kScales, tile.firstOfAll()),
        zeros(launch, kZeros, tile.firstOfAll()),
        superScales(launch, kSuperScales, tile.firstOfAll()) {}

  /// From column `k` on, for the stage at `stage`.
  __device__ void copy(u32 stage, int k) const {
    u32 to = stage + threadIdx.x * 16;
    weights.copy(to, k);
    scales.copy(to, k);
    zeros.copy(to, k);
    superScales.copy(to, k);
  }
  // A thread's copies are waited for together, whatever they bring.
  __device__ void wait(u32, u32) const {}
  __device__ void finish() const {}
};

/// Where a stage has the barrier at which all warps that multiply arrive once they have read it.
INGOT_DEVICE u32 emptied(u32 stage) { return stage + kBarrierOffset + 8; }

/// The same by tensor copies of one thread. Elements of the maps have 8 bytes.
struct WeightTensors {
  const Launch &launch;
  int firstTile;
  u32 base; ///< of the stages
  /// Whether this is the warp that copies: known to be the same in a warp, so that the copies'
  /// operands are.
  bool isCopying = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0) == kCopyingWarp;

  __device__ WeightTensors(const Launch &launch, const Tile &tile, u32 base)
      : launch(launch), firstTile(int(tile.firstOfAll())), base(base) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < int(constants::tensor_maps); ++i)
        ptx::prefetchTensor(launch.maps[i]);
#pragma unroll
      for (int i = 0; i < kStages; ++i) {
        ptx::makeBarrier(base + i * kStageBytes + kBarrierOffset);
        if constexpr (kProduces)
          ptx::makeBarrier(emptied(base + i * kStageBytes), kThreads / 32);
      }
      ptx::publishBarriers();
    }
    __syncthreads();
  }

  __device__ void copy(u32 stage, int k) const {
    if (!isCopying || !ptx::isElected())
      return;
    u32 barrier = stage + kBarrierOffset;
    ptx::expectBytes(barrier, kTensorBytes + (kProduces ? kTileTokens * kRowBytes : 0));
    bring<Weights>(stage, 0, k, barrier);
    bring<Scales>(stage + kScalesOffset, 1, k, barrier);
    bring<Zeros>(stage + kZerosOffset, 2, k, barrier);
    bring<SuperScales>(stage + kSuperScalesOffset, Zeros::kBytes > 0 ? 3 : 2, k, barrier);
  }
  template <class Kind> __device__ void bring(u32 to, int map, int k, u32 barrier) const {
    if constexpr (Kind::kBytes > 0) {
      int x = Kind::at(k) * (Kind::kBytes / 8);
      if constexpr (kReadOnce)
        ptx::copyTensor(to, launch.maps[map], x, firstTile, barrier, ptx::evictFirst());
      else
        ptx::copyTensor(to, launch.maps[map], x, firstTile, barrier);
    }
  }
  /// `parity`: whether the stage has been filled an even (0) or odd number of times before.
  __device__ void wait(u32 stage, u32 parity) const {
    ptx::waitPhase(stage + kBarrierOffset, parity);
  }
  /// Lets the barriers' memory be used for other things. No thread waits any more.
  __device__ void finish() const {
    if (threadIdx.x == 0)
#pragma unroll
      for (int i = 0; i < kStages; ++i) {
        ptx::dropBarrier(base + i * kStageBytes + kBarrierOffset);
        if constexpr (kProduces)
          ptx::dropBarrier(emptied(base + i * kStageBytes));
      }
  }
};

template <bool Tensors> struct WeightWayOf {
  using Type = WeightCopies;
};
template <> struct WeightWayOf<true> {
  using Type = WeightTensors;
};
using WeightWay = WeightWayOf<kTensorCopies>::Type;

template <bool Gathered, int Chunks> struct InputRows {
  struct Type : Copies<kTileTokens, Chunks, kDepth * kInputBytes, false, false> {
    __device__ Type(const void *rows, const Tokens &tokens)
        : Copies<kTileTokens, Chunks, kDepth * kInputBytes, false, false>(
              rows, tokens.first, tokens.first + tokens.count) {}
  };
};
template <int Chunks> struct InputRows<true, Chunks> {
  using Type = GatheredCopies<kTileTokens, Chunks, kDepth * kInputBytes>;
};

/// A thread's part of bringing inputs.
struct InputCopies {
  static constexpr int kChunks = kRowBytes / 16;
  static_assert(kThreads / kChunks % 8 == 0, "inputPlace exchanges alike for every pass");

  InputRows<kByExpert, kChunks>::Type inputs;
  u32 to = inputPlace(int(threadIdx.x) / kChunks, int(threadIdx.x) % kChunks);

  __device__ InputCopies(const Launch &launch, const Tile &tile)
      : inputs(launch.buffers[kInput], tile.tokens) {}

  __device__ void copy(u32 stage, int k) const {
    inputs.copy(stage + to, k * kInputBytes, (int(kDepth) - k) * kInputBytes / 16);
  }
};

} // namespace matmul
