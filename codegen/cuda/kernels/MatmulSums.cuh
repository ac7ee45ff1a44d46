// SPDX-License-Identifier: Apache-2.0
// What the tensor-core templates do alike, however they multiply: a lane's sums, which are those of
// rows g and g + 8 of 16 by tokens 2t and 2t + 1 of eight; the numbers of groups; segments that
// blocks share; and the way of sums to the result.
#pragma once

#include "Arrival.cuh"
#include "MatmulCodeBook.cuh"
#include "MatmulScales.cuh"

namespace matmul {

constexpr int kRows = int(constants::row_tiles), kBlocks = int(constants::token_blocks);
constexpr i64 kSegments = ceilDiv(kDepth, kSegment);
constexpr int kQuads = kRows * kBlocks; ///< a lane's sums, by four
/// Whether warp groups share tiles of 16 rows: the first has the first eight rows of each, the
/// second the others.
constexpr bool kCrosses = constants::from_shared != 0;
/// Whether gridDim.z may be more than 1.
constexpr bool kShares = constants::shares_depth != 0;

/// The lane's sums over its warp's tiles: rows g and g + 8 by tokens 2t and 2t + 1.
template <class Number> struct Sums {
  Number of[kRows][kBlocks][4];

  __device__ uint4 quad(int r, int c) const {
    const Number(&sums)[4] = of[r][c];
    return {bits(sums[0]), bits(sums[1]), bits(sums[2]), bits(sums[3])};
  }
  __device__ void addQuad(int r, int c, const uint4 &quad) {
    addBits(of[r][c][0], quad.x);
    addBits(of[r][c][1], quad.y);
    addBits(of[r][c][2], quad.z);
    addBits(of[r][c][3], quad.w);
  }
  static __device__ u32 bits(float sum) { return __float_as_uint(sum); }
  static __device__ u32 bits(i32 sum) { return u32(sum); }
  static __device__ void addBits(float &sum, u32 bits) { sum += __uint_as_float(bits); }
  static __device__ void addBits(i32 &sum, u32 bits) { sum += i32(bits); }

  __device__ void clear() {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kBlocks; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          of[r][c][i] = 0;
  }
};

/// Calls visit(r, c, i) for every sum of a lane.
template <class Visit> INGOT_DEVICE void forEachSum(Visit visit) {
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kBlocks; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        visit(r, c, i);
}

using Decoded = DecodedScales<kRows>;

struct Warp {
  int lane = int(threadIdx.x) % 32, index = int(threadIdx.x) / 32;
  int along = index % int(constants::warps_along);
  int across = index / int(constants::warps_along);

  __device__ int rowTile(int r) const { return along * kRows + r; }
  /// Rows of the lane's sums within the block's tile: of sums 0 and 1, and of 2 and 3.
  __device__ int row(int r, int half) const {
    return kCrosses ? (index % 4 * 2 + half) * 16 + index / 4 * 8 + lane / 4
                    : rowTile(r) * 16 + lane / 4 + half * 8;
  }
  /// Where a stage's records have the number of such a row for a group: of 16 rows, first and
  /// second halves in turn.
  __device__ int numberAt(int r, int half, int group) const {
    return kCrosses ? ((index % 4 * 2 + half) * kStageGroups + group) * 16 + lane / 4 * 2 + index / 4
                    : (rowTile(r) * kStageGroups + group) * 16 + lane / 4 * 2 + half;
  }
  __device__ int token(int c) const { return (across * kBlocks + c) * 8; }
};

/// One block's share of its tile's product.
struct Block {
  const Launch &launch;
  Tile tile;
  u8 *memory; ///< of the stages, and of sums that are to be stored
  u32 base = ptx::sharedAddress(memory);
  Warp warp;
  int begin, end;         ///< of k
  uint4 *aside = nullptr; ///< place of the segment, where shares put it aside
  Book book;

  __device__ Block(const Launch &launch, const Tile &tile, u8 *memory)
      : launch(launch), tile(tile), memory(memory),
        book(kLooksUp ? launch.buffers[kZeros] : nullptr) {
    i64 share = kShares ? blockIdx.z : 0, shares = kShares ? gridDim.z : 1;
    i64 first = kSegments * share / shares, last = kSegments * (share + 1) / shares;
    begin = int(first * kSegment);
    end = int(least(last * kSegment, kDepth));
    if constexpr (kShares && !kInteger)
      aside = place(first);
  }

  /// The zeros of rows g and g + 8 of a tile for group `group` of the stage.
  __device__ void zeros(u32 stageOffset, int r, int group, u32 (&pair)[2]) const {
    if constexpr (Zeros::kBytes > 0 && !kAddsOffsets) {
      pair[0] = zeroWord(memory[stageOffset + kZerosOffset + warp.numberAt(r, 0, group)]);
      pair[1] = zeroWord(memory[stageOffset + kZerosOffset + warp.numberAt(r, 1, group)]);
    } else {
      pair[0] = pair[1] = zeroWord(kMiddle);
    }
  }

  /// What the sums of rows g and g + 8 of a tile are scaled by, and what must be added to their
  /// weights then.
  __device__ GroupNumbers groupNumbers(u32 stageOffset, int r, int group) const {
    if constexpr (kScaleCodes)
      return Decoded::load(memory, warp.index, r, group);
    GroupNumbers numbers = {};
    const u8 *stage = memory + stageOffset;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int at = warp.numberAt(r, i, group);
      numbers.scale[i] = loadElement<constants::scale_type>(stage + kScalesOffset, at);
      if constexpr (kAddsOffsets)
        numbers.offset[i] = loadElement<constants::scale_type>(stage + kZerosOffset, at);
    }
    moveToMiddle(numbers);
    return numbers;
  }

  /// This thread's quads of sums in the workspace, kThreads apart, for segment (for integers:
  /// share) `part` of the block's tile.
  __device__ uint4 *place(i64 part) const {
    i64 block = blockIdx.y * i64(gridDim.x) + blockIdx.x;
    i64 count = kInteger ? i64(gridDim.z) : kSegments;
    return reinterpret_cast<uint4 *>(launch.buffer<u8>(kWorkspace) + kCounterBytes) +
           (block * count + part) * kThreads * kQuads + threadIdx.x;
  }
  template <class Number> static __device__ void putAside(uint4 *aside, const Sums<Number> &sums) {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kBlocks; ++c)
        aside[(r * kBlocks + c) * kThreads] = sums.quad(r, c);
  }

  /// Puts a segment's sums aside for the block that adds them, if this block's share is not the
  /// first, whose sums come before all others.
  template <class Number> __device__ bool putsAside(const Sums<Number> &sums) {
    if (!kShares || blockIdx.z == 0)
      return false;
    putAside(aside, sums);
    aside += kThreads * kQuads;
    return true;
  }

  /// The lane's words of a step, whose blocks begin at `block`. A lane of ldmatrix gives one row.
  __device__ void loadWeights(u32 (&words)[kStepWords], const u8 *block) const {
    if constexpr (kPlanes) {
      LanePlanes<kWeightType> planes(block, warp.lane);
#pragma unroll
      for (int w = 0; w < kStepWords; ++w)
        words[w] = planes.bytes[w];
    } else if constexpr (kStoredMatrices) {
      u32 from = ptx::sharedAddress(block) + warp.lane * 16;
#pragma unroll
      for (int w = 0; w < kStepWords; w += 4) {
        u32 four[4];
        ptx::loadMatrix4(four, from + w / 4 * kBlockBytes);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          words[w + i] = four[i];
      }
    } else {
#pragma unroll
      for (int w = 0; w < kStepWords; w += 4) {
        uint4 four = *reinterpret_cast<const uint4 *>(block + w / 4 * kBlockBytes + warp.lane * 16);
        words[w] = four.x;
        words[w + 1] = four.y;
        words[w + 2] = four.z;
        words[w + 3] = four.w;
      }
    }
  }

  /// Whether the open group ends before column `column` of the stage that begins at `k`: where a
  /// group, a segment or k ends. Known to the compiler where stages hold whole groups.
  static __device__ bool groupEnds(int column, int k) {
    if constexpr (kGroup <= kTileDepth)
      return column % kGroup == 0;
    int done = k + kTileDepth;
    bool segmentEnds = !kInteger && done % kSegment == 0;
    return column == kTileDepth && (done % kGroup == 0 || segmentEnds || done >= kDepth);
  }

  template <class Number> __device__ void addParts(Sums<Number> &sums, i64 part, i64 end) const;
  template <class Number> __device__ bool addShares(Sums<Number> &sums) const;
  template <class Number> __device__ void store(const Sums<Number> &sums) const;
  __device__ void placeSum(int row, int token, float sum) const;
  __device__ void storeRows(int first, int rows) const;
};

/// Adds the parts [part, end) in order to `sums`. So many loads are under way at once that memory's
/// latency counts once for some parts and not for each; the order of additions is the same.
template <class Number>
__device__ void Block::addParts(Sums<Number> &sums, i64 part, i64 end) const {
  constexpr int kLoads = 12; // of 16 bytes
  constexpr int kParts = int(most(kLoads / kQuads, 1));
  const uint4 *from = place(part);
#pragma unroll 1
  for (int left = int(end - part); left > 0; left -= kParts, from += kParts * kQuads * kThreads) {
    uint4 loaded[kParts][kQuads];
#pragma unroll
    for (int p = 0; p < kParts; ++p)
      if (p < left)
#pragma unroll
        for (int q = 0; q < kQuads; ++q)
          loaded[p][q] = __ldcg(from + (p * kQuads + q) * kThreads);
#pragma unroll
    for (int p = 0; p < kParts; ++p)
      if (p < left)
#pragma unroll
        for (int q = 0; q < kQuads; ++q)
          sums.addQuad(q / kBlocks, q % kBlocks, loaded[p][q]);
  }
}

/// With shares: whether this block is the last of its tile, which then has all sums and stores
/// them. `sums`: of
/// this share; of the first one, which has added its own segments.
template <class Number> __device__ bool Block::addShares(Sums<Number> &sums) const {
  // The first share's sum stands in the place of the last of its segments.
  i64 first = kInteger ? 0 : kSegments / gridDim.z - 1;
  if constexpr (kInteger)
    putAside(place(blockIdx.z), sums);
  else if (blockIdx.z == 0)
    putAside(place(first), sums);
  if (!arrivesLast<kThreads>(launch.buffer<u32>(kWorkspace) + blockIdx.y * gridDim.x + blockIdx.x,
                             gridDim.z))
    return false;
  sums.clear();
  addParts(sums, first, kInteger ? i64(gridDim.z) : kSegments);
  return true;
}

/// Sums of a tile stand in shared memory by tokens, each of which takes so many numbers.
constexpr int kSumStride = kTileRows + 4;
static_assert(kTileTokens * kSumStride * 4 <= constants::shared_bytes,
              "the provider counts alike");

/// Epilogue and result of the tile.
template <class Number> __device__ void Block::store(const Sums<Number> &of) const {
  forEachSum([&](int r, int c, int i) {
    placeSum(warp.row(r, i / 2), warp.token(c) + warp.lane % 4 * 2 + i % 2, float(of.of[r][c][i]));
  });
  ptx::syncFirst<kThreads>();
  storeRows(0, kTileRows);
}

/// Puts a sum where storeRows finds it.
__device__ __forceinline__ void Block::placeSum(int row, int token, float sum) const {
  reinterpret_cast<float *>(memory)[token * kSumStride + row] = sum * kDecodedUnit * book.unit;
}

/// Epilogue and result of `rows` rows of the tile, element by element in the order of memory.
__device__ __forceinline__ void Block::storeRows(int firstRow, int rows) const {
  const float *sums = reinterpret_cast<const float *>(memory);
  int columns = kPaired ? rows / 2 : rows;
  for (int i = int(threadIdx.x); i < kTileTokens * columns; i += kThreads) {
    int place = i / columns;
    int row = firstRow + (kPaired ? i % columns / 8 * 16 + i % 8 : i % columns);
    i64 weightRow = tile.firstTile * 16 + row, column = resultColumn(weightRow);
    if (place >= tile.tokens.count || column >= kColumns)
      continue;
    i64 token = tile.tokens.result(place);
    const float *from = sums + place * kSumStride + row;
    float pair[2] = {from[0], kPaired ? from[8] : 0.0f};
    if constexpr (kScaled && !kGrouped) {
#pragma unroll
      for (int member = 0; member < (kPaired ? 2 : 1); ++member)
        pair[member] *= loadElement<constants::scale_type>(
            launch.buffers[kScales],
            constants::scale_extent == kTensorScale
                ? 0
                : scalePlace(tile.tokens.weightRow() + weightRow + 8 * member));
    }
    storeElement<constants::result_type>(launch.buffers[kResult], token * kColumns + column,
                                         finish(launch, token, column, pair[0], pair[1]));
  }
}

/// What tile a block has, as indices along the weight's rows and along tokens. Blocks that run at
/// the same time have all tiles of a few rows and a group of token tiles, so that L2 serves what
/// one of them has brought.
struct TileIndex {
  u32 rows, tokens;
};
INGOT_DEVICE TileIndex tileIndex() {
  if constexpr (constants::token_group == 0) {
    return {blockIdx.y, blockIdx.x};
  } else {
    // A result is far smaller than 2^32 tiles.
    constexpr u32 group = u32(constants::token_group);
    u32 block = blockIdx.y * gridDim.x + blockIdx.x, groupBlocks = group * gridDim.y;
    u32 first = block / groupBlocks * group, place = block % groupBlocks;
    u32 width = u32(least(group, gridDim.x - first));
    return {place / width, first + place % width};
  }
}

/// Runs a template whose `Work` is a Block: `memory` are the stages, which may lie anywhere.
template <class Work> INGOT_DEVICE void runBlock(const Launch &launch, u8 *memory) {
  ptx::letNextKernelStart();
  // Kernels before this one say which rows are whose.
  if constexpr (kByExpert)
    ptx::waitForEarlierKernels();
  TileIndex index = tileIndex();
  Tile tile = {i64(index.rows) * kRowTiles, tokensOf<kTileTokens>(launch, index.tokens)};
  if (kByExpert && tile.tokens.count <= 0)
    return;
  Work work(launch, tile, memory);
  // What each part of the block runs ends apart, since they have different numbers of registers.
  if constexpr (kProduces)
    if (!work.multiplies())
      return;
  if (work.book.hasRest)
    work.template run<kLooksUp>();
  else
    work.template run<false>();
  if (!kShares || gridDim.z == 1 || work.addShares(work.result()))
    work.store(work.result());
}

} // namespace matmul
