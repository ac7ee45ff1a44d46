// SPDX-License-Identifier: Apache-2.0
// llm.attention for few tokens: a block is one token, up to 16 query heads of one KV head, and
// every gridDim.x-th of the token's segments. Warps share the scores of a tile by positions and its
// weighted values by columns. The parts of segments meet in the workspace, where the block that
// comes last merges them in order. Numbers as AttentionTile.cuh has them. Buffers: query,
// positions, token_sequences, block_table, cache, sinks and reaches where there are any, result,
// workspace.
#include "Arrival.cuh"
#include "AttentionMerge.cuh"

namespace {

/// Blocks that share a KV head.
constexpr int kHeadBlocks = int(ceilDiv(kGroup, kRows));
constexpr int kHalves = kHeads > 8 ? 2 : 1;
constexpr int kWarpColumnTiles = kColumnTiles / kWarps;
constexpr int kWarpPairs = int(ceilDiv(kPairs, kWarps));

/// Shared memory: a ring of tiles of keys and values with their scales; then scores.
constexpr int kStageBytes = kKeyBytes + kValueBytes + 2 * kScaleBytes;
constexpr int kStages = int(constants::stages);
constexpr int kScoreStride = kTile + 8;
static_assert(constants::shared_bytes == kStages * kStageBytes + kRows * kScoreStride * 4);
static_assert(int(sizeof(MergeSpace)) <= kStages * kStageBytes, "merging takes the stages' memory");

/// Buffers behind the cache.
constexpr int kResult = resultBuffer(), kWorkspace = kResult + 1;

struct Stage {
  u8 *keys;
  __device__ __forceinline__ u8 *values() const { return keys + kKeyBytes; }
  __device__ __forceinline__ float *keyScales() const {
    return reinterpret_cast<float *>(values() + kValueBytes);
  }
  __device__ __forceinline__ float *valueScales() const {
    return reinterpret_cast<float *>(values() + kValueBytes + kScaleBytes);
  }
};

/// What a block works on.
struct Work {
  i64 token;
  int firstHead; ///< of the query
  int headBlock; ///< of the token
  i32 position;
  i32 last; ///< position that is attended to
  KvSequence sequence;

  __device__ __forceinline__ int heads() const {
    return kGroup % kRows == 0 ? kRows : int(least(kHeads, kGroup - firstHead % kGroup));
  }
  /// Segments [firstSegment(), endSegment()) are attended to.
  __device__ __forceinline__ int firstSegment() const { return firstSeen(position) / kSegment; }
  __device__ __forceinline__ int endSegment() const { return last / kSegment + 1; }
  __device__ __forceinline__ int segments() const { return endSegment() - firstSegment(); }
  /// Where the tiles of segment `segment` begin.
  __device__ __forceinline__ i32 beginOf(int segment) const {
    i32 begin = segment * kSegment;
    return kWindow > 0 ? i32(most(begin, firstSeen(position) / kTile * kTile)) : begin;
  }
  /// Element of the query and of the result at which a row begins.
  __device__ __forceinline__ i64 element(int row) const {
    return (token * kQueryHeads + firstHead + row) * kHeadDim;
  }
};

INGOT_DEVICE Work findWork(const Launch &launch) {
  Work work;
  work.token = blockIdx.z;
  work.headBlock = int(blockIdx.y);
  int kvHead = work.headBlock / kHeadBlocks;
  work.firstHead = kvHead * kGroup + work.headBlock % kHeadBlocks * kRows;
  work.position = launch.buffer<const i32>(1)[work.token];
  work.last = lastSeen(launch, work.token, work.position);
  i64 sequence = launch.buffer<const i32>(2)[work.token];
  work.sequence = {launch.buffers[4],
                   launch.buffer<const i32>(3) + sequence * launch.tableColumns(), kvHead};
  return work;
}

/// The tiles of a block's segments, in order.
struct TileCursor {
  int segment;
  i32 begin;

  __device__ __forceinline__ bool exists(const Work &work) const {
    return begin <= work.last && segment < work.endSegment();
  }
  __device__ __forceinline__ bool endsSegment(const Work &work) const {
    return begin + kTile > work.last || begin % kSegment + kTile == kSegment;
  }
  __device__ __forceinline__ void advance(const Work &work) {
    bool ends = endsSegment(work);
    segment += ends ? int(gridDim.x) : 0;
    begin = ends ? work.beginOf(segment) : begin + kTile;
  }
};

/// Starts to copy the cursor's tile, if there is one; always one group.
INGOT_DEVICE void copyStage(const Work &work, const TileCursor &cursor, Stage stage) {
  if (cursor.exists(work)) {
    i32 end = work.last + 1;
    copyTile<true>(work.sequence, cursor.begin, end, ptx::sharedAddress(stage.keys),
                   ptx::sharedAddress(stage.keyScales()));
    copyTile<false>(work.sequence, cursor.begin, end, ptx::sharedAddress(stage.values()),
                    ptx::sharedAddress(stage.valueScales()));
  }
  ptx::commitCopies();
}

/// This warp's part of a tile's scores, into shared memory.
INGOT_DEVICE void shareScores(const Work &work, const QueryRegisters &query, i32 begin, Stage stage,
                              float *shared) {
  float scores[kWarpColumnTiles][4];
  int first = warpIndex() * kWarpColumnTiles * 8;
  scoreTile(query, stage.keys + first * kKeyStride, scores);
  scaleScores(stage.keyScales() + first, begin + first, {work.position, work.last},
              {work.position, work.last}, scores);
  float *row = shared + laneRow() * kScoreStride + first + laneColumn();
#pragma unroll
  for (int tile = 0; tile < kWarpColumnTiles; ++tile)
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      *reinterpret_cast<float2 *>(row + half * 8 * kScoreStride +
                                  tile * 8) = {scores[tile][2 * half], scores[tile][2 * half + 1]};
}

INGOT_DEVICE void loadScores(const float *shared, float (&scores)[kColumnTiles][4]) {
  const float *row = shared + laneRow() * kScoreStride + laneColumn();
#pragma unroll
  for (int tile = 0; tile < kColumnTiles; ++tile)
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      float2 pair = *reinterpret_cast<const float2 *>(row + half * 8 * kScoreStride + tile * 8);
      scores[tile][2 * half] = pair.x;
      scores[tile][2 * half + 1] = pair.y;
    }
}

/// Calls `use` with the row and element of each of this lane's sums.
template <class Use>
INGOT_DEVICE void forSums(const Work &work, const float (&sums)[kWarpPairs][2][4], Use use) {
#pragma unroll
  for (int pair = 0; pair < kWarpPairs; ++pair) {
    int at = warpIndex() * kWarpPairs + pair;
    if (kPairs % (kWarpPairs * kWarps) != 0 && at >= kPairs)
      break;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      int half = i % 4 / 2, row = laneRow() + half * 8;
      if (half < kHalves && row < work.heads())
        use(row, half, elementOf(at, i), sums[pair][i / 4][i % 4]);
    }
  }
}

/// Where the part of a head (of this block's) in a segment lies.
INGOT_DEVICE float *partOf(const Launch &launch, const Work &work, int segment, int row) {
  i64 segments = ceilDiv(launch.tableColumns() * constants::block_tokens, kSegment);
  i64 index = (work.token * gridDim.y + work.headBlock) * segments + segment;
  return reinterpret_cast<float *>(launch.buffer<u8>(kWorkspace) + kCounterBytes) +
         (index * kHeads + row) * kPartFloats;
}

/// Takes the sinks of this lane's rows into their one segment.
INGOT_DEVICE void addSinks(const Launch &launch, const Work &work, RowState &state,
                           float (&sums)[kWarpPairs][2][4]) {
  float factors[2] = {};
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
    if (int row = laneRow() + half * 8; row < work.heads())
      factors[half] = addSink(launch, work.firstHead + row, state.maximum[half], state.sum[half]);
  scaleSums(factors, sums);
}

INGOT_DEVICE void storePart(const Launch &launch, const Work &work, int segment,
                            const RowState &state, const float (&sums)[kWarpPairs][2][4]) {
  forSums(work, sums, [&](int row, int, int element, float value) {
    partOf(launch, work, segment, row)[element] = value;
  });
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
    if (int row = laneRow() + half * 8;
        warpIndex() == 0 && laneIndex() % 4 == 0 && row < work.heads()) {
      float *part = partOf(launch, work, segment, row);
      part[kHeadDim] = state.maximum[half];
      part[kHeadDim + 1] = state.sum[half];
    }
}

/// Merges the parts of all segments into the result.
INGOT_DEVICE void storeMerged(const Launch &launch, const Work &work, MergeSpace &space) {
  auto store = [&](int row, int element, float value, float maximum, float sum) {
    if constexpr (constants::sinks != 0)
      value *= addSink(launch, work.firstHead + row, maximum, sum);
    storeElement<constants::result_type>(launch.buffers[kResult], work.element(row) + element,
                                         value / sum);
  };
  constexpr i64 stride = i64(kHeads) * kPartFloats;
  mergeParts(partOf(launch, work, work.firstSegment(), 0), stride, work.segments(), work.heads(),
             space, store);
}

} // namespace

__device__ void run(const Launch &launch) {
  extern __shared__ __align__(16) u8 memory[];
  float *shared = reinterpret_cast<float *>(memory + kStages * kStageBytes);
  Work work = findWork(launch);
  int firstSegment = work.firstSegment() + int(blockIdx.x);
  TileCursor cursor = {firstSegment, work.beginOf(firstSegment)};
  if (!cursor.exists(work))
    return;
  TileCursor ahead = cursor;
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    copyStage(work, ahead, {memory + stage * kStageBytes});
    if (ahead.exists(work))
      ahead.advance(work);
  }
  auto rowOf = [&](int row) {
    return row < work.heads() ? launch.buffer<const u16>(0) + work.element(row) : nullptr;
  };
  QueryRegisters query;
  query.load(rowOf(laneRow()), kHalves > 1 ? rowOf(laneRow() + 8) : nullptr);
  RowState state;
  state.clear();
  float sums[kWarpPairs][2][4] = {};
  for (int stage = 0; cursor.exists(work); stage = stage + 1 < kStages ? stage + 1 : 0) {
    ptx::waitCopies<kStages - 2>();
    __syncthreads();
    int free = stage > 0 ? stage - 1 : kStages - 1;
    copyStage(work, ahead, {memory + free * kStageBytes});
    if (ahead.exists(work))
      ahead.advance(work);
    Stage current = {memory + stage * kStageBytes};
    shareScores(work, query, cursor.begin, current, shared);
    __syncthreads();
    float scores[kColumnTiles][4], before[2];
    loadScores(shared, scores);
    weigh<kHalves>(scores, state, before);
    scaleSums(before, sums);
    addValues<kHalves>(scores, current.values(), current.valueScales(), warpIndex() * kWarpPairs,
                       sums);
    if (cursor.endsSegment(work)) {
      state.finish();
      if (work.segments() > 1) {
        storePart(launch, work, cursor.segment, state, sums);
      } else {
        if constexpr (constants::sinks != 0)
          addSinks(launch, work, state, sums);
        forSums(work, sums, [&](int row, int half, int element, float value) {
          storeElement<constants::result_type>(launch.buffers[kResult], work.element(row) + element,
                                               value / state.sum[half]);
        });
      }
      state.clear();
#pragma unroll
      for (int pair = 0; pair < kWarpPairs; ++pair)
#pragma unroll
        for (int i = 0; i < 8; ++i)
          sums[pair][i / 4][i % 4] = 0;
    }
    cursor.advance(work);
  }
  if (work.segments() == 1)
    return;
  u32 *counter = launch.buffer<u32>(kWorkspace) + work.token * gridDim.y + work.headBlock;
  if (arrivesLast(counter, u32(least(gridDim.x, work.segments()))))
    storeMerged(launch, work, *reinterpret_cast<MergeSpace *>(memory));
}
