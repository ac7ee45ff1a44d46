// SPDX-License-Identifier: Apache-2.0
// llm.attention over a latent cache: a row is a query head of a token, and all rows of a block
// share one pass over the cache, whose tiles are read as keys and as values. kParts warps have the
// same 16 rows: they share a tile's scores by positions and its weighted values by columns. With
// `split` a block is one token and every gridDim.x-th of its segments, whose parts meet in the
// workspace, where the block that comes last merges them in order; else a block takes a tile of
// tokens after the other, with all of their segments, and keeps what they have come to in the
// workspace. Numbers as AttentionTile.cuh has them, whatever the block. Buffers: query, positions,
// token_sequences, block_table, cache; sinks, reaches and rotary where there are any; result,
// workspace.
#include "Arrival.cuh"
#include "AttentionMerge.cuh"
#include "AttentionTokens.cuh"

namespace {

constexpr bool kSplit = constants::split != 0;
constexpr int kRowTiles = int(constants::row_tiles);
constexpr int kBlockRows = kRowTiles * kRows;
constexpr int kParts = kWarps / kRowTiles; ///< warps with the same rows
constexpr int kWarpTiles = kColumnTiles / kParts;
constexpr int kWarpPairs = int(ceilDiv(kPairs, kParts));
static_assert(kParts * kRowTiles == kWarps && kParts * kWarpTiles == kColumnTiles);

/// Heads of a token that a block has, and blocks that share the token.
constexpr int kBlockHeads = int(least(kQueryHeads, kBlockRows));
constexpr int kHeadBlocks = int(ceilDiv(kQueryHeads, kBlockHeads));
static_assert(kKvHeads == 1 && kTileTokens * kBlockHeads <= kBlockRows);
static_assert(!kSplit || kTileTokens == 1);

/// Fragments of the query that are not in what stands apart.
constexpr int kOwnSteps = kSteps - int(constants::rotary_columns) / kStepElements;
static_assert(constants::rotary_columns % kStepElements == 0);

/// Shared memory: a ring of tiles with their scales; the query; the scores.
constexpr int kStageBytes = kKeyBytes + kScaleBytes;
constexpr int kStages = int(constants::stages);
constexpr int kQueryBytes = kSteps * kWarpSize * 16; ///< of 16 rows
constexpr int kScoreStride = kTile + 8;
constexpr int kSharedQuery = kStages * kStageBytes;
constexpr int kSharedScores = kSharedQuery + kRowTiles * kQueryBytes;
static_assert(constants::shared_bytes == kSharedScores + kBlockRows * kScoreStride * 4);
static_assert(!kSplit || int(sizeof(MergeSpace)) <= kSharedQuery, "merging takes tiles' memory");

/// Buffers behind the cache.
constexpr int kResult = resultBuffer(), kWorkspace = kResult + 1;

/// A tile of tokens, and a block of their heads.
struct Work : TokenTile {
  int firstHead;
  KvSequence sequence;

  __device__ __forceinline__ int heads() const {
    return kHeadBlocks == 1 ? kBlockHeads : int(least(kBlockHeads, kQueryHeads - firstHead));
  }
  __device__ __forceinline__ int rows() const { return count * heads(); }
  __device__ __forceinline__ i64 token(int row) const { return first + row / kBlockHeads; }
  __device__ __forceinline__ int head(int row) const { return firstHead + row % kBlockHeads; }
  /// The row's number among those of all heads of all tokens.
  __device__ __forceinline__ i64 index(int row) const {
    return token(row) * kQueryHeads + head(row);
  }
  /// Segments [firstSegment(), endSegment()) are attended to.
  __device__ __forceinline__ int firstSegment() const { return begin / kSegment; }
  __device__ __forceinline__ int endSegment() const { return last / kSegment + 1; }
  __device__ __forceinline__ int segments() const { return endSegment() - firstSegment(); }
  /// Where the tiles of segment `segment` begin.
  __device__ __forceinline__ i32 beginOf(int segment) const {
    return i32(most(segment * kSegment, begin));
  }
};

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
    segment += ends ? (kSplit ? int(gridDim.x) : 1) : 0;
    begin = ends ? work.beginOf(segment) : begin + kTile;
  }
};

/// The query's fragments of 16 rows, in shared memory.
struct Query {
  uint4 *lane;
  __device__ __forceinline__ void get(int step, u32 (&query)[4]) const {
    uint4 value = lane[step * kWarpSize];
    query[0] = value.x;
    query[1] = value.y;
    query[2] = value.z;
    query[3] = value.w;
  }
};

/// A block at work.
class Attention {
public:
  __device__ __forceinline__ Attention(const Launch &launch, const Work &work, u8 *memory)
      : launch(launch), work(work), memory(memory),
        query{reinterpret_cast<uint4 *>(memory + kSharedQuery + rowTile() * kQueryBytes) +
              laneIndex()} {}

  /// The segments from `firstSegment` on; there is one at least.
  __device__ __forceinline__ void run(int firstSegment) {
    TileCursor cursor = {firstSegment, work.beginOf(firstSegment)}, ahead = cursor;
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage)
      copyStage(ahead, stage);
    loadQuery(0, 0, kOwnSteps);
    if constexpr (kOwnSteps < kSteps)
      loadQuery(rotaryBuffer(), kOwnSteps, kSteps - kOwnSteps);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      seen[half] = seenBy(firstRow() + half * 8);
    clear();
    for (int stage = 0; cursor.exists(work); stage = stage + 1 < kStages ? stage + 1 : 0) {
      ptx::waitCopies<kStages - 2>();
      __syncthreads();
      copyStage(ahead, stage > 0 ? stage - 1 : kStages - 1);
      const u8 *tile = memory + stage * kStageBytes;
      auto *scales = reinterpret_cast<const float *>(tile + kKeyBytes);
      shareScores(cursor.begin, tile, scales);
      __syncthreads();
      float scores[kColumnTiles][4], before[2];
      loadScores(scores);
      weigh<2>(scores, state, before);
      scaleSums(before, sums);
      addValues<2>(scores, tile, scales, firstPair(), sums);
      if (cursor.endsSegment(work))
        endSegment(cursor.segment);
      cursor.advance(work);
    }
  }

  /// Merges the parts of all segments into the result; `space` is of the tiles' memory.
  __device__ __forceinline__ void storeMerged(MergeSpace &space) const {
    for (int first = 0; first < work.heads(); first += kRows) {
      auto store = [&](int row, int element, float value, float maximum, float sum) {
        if constexpr (constants::sinks != 0)
          value *= addSink(launch, work.head(first + row), maximum, sum);
        storeElement<constants::result_type>(
            launch.buffers[kResult], work.index(first + row) * kValueDim + element, value / sum);
      };
      mergeParts(partOf(work.firstSegment(), first), i64(kBlockHeads) * kPartFloats,
                 work.segments(), int(least(kHeads, work.heads() - first)), space, store);
      __syncthreads();
    }
  }

private:
  __device__ __forceinline__ int rowTile() const { return warpIndex() % kRowTiles; }
  __device__ __forceinline__ int part() const { return warpIndex() / kRowTiles; }
  __device__ __forceinline__ int firstRow() const { return rowTile() * kRows + laneRow(); }
  __device__ __forceinline__ int firstPair() const { return part() * kWarpPairs; }

  /// The row in the query, or in what of it stands apart; null for rows past the end.
  __device__ __forceinline__ const u16 *queryRow(int buffer, int row, int columns) const {
    return row < work.rows() ? launch.buffer<const u16>(buffer) + work.index(row) * columns
                             : nullptr;
  }

  /// Fragments [first, first + count) of this warp's rows, of those parts that it has.
  __device__ __forceinline__ void loadQuery(int buffer, int first, int count) {
    const u16 *row = queryRow(buffer, firstRow(), count * kStepElements),
              *below = queryRow(buffer, firstRow() + 8, count * kStepElements);
#pragma unroll 1
    for (int step = part(); step < count; step += kParts) {
      u32 values[4];
      loadQueryStep(row, below, {{1, 1}}, step, values);
      query.lane[(first + step) * kWarpSize] = {values[0], values[1], values[2], values[3]};
    }
  }

  /// What a row sees; nothing for rows past the end.
  __device__ __forceinline__ Seen seenBy(int row) const {
    Seen found = {-1, -1};
    if (row < work.rows()) {
      found.position = launch.buffer<const i32>(1)[work.token(row)];
      found.last = lastSeen(launch, work.token(row), found.position);
    }
    return found;
  }

  __device__ __forceinline__ void clear() {
    state.clear();
#pragma unroll
    for (int pair = 0; pair < kWarpPairs; ++pair)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sums[pair][i / 4][i % 4] = 0;
  }

  /// Starts to copy the cursor's tile, if there is one, and moves on; always one group.
  __device__ __forceinline__ void copyStage(TileCursor &cursor, int stage) {
    if (cursor.exists(work)) {
      u32 to = ptx::sharedAddress(memory + stage * kStageBytes);
      copyTile<true>(work.sequence, cursor.begin, work.last + 1, to, to + kKeyBytes);
      cursor.advance(work);
    }
    ptx::commitCopies();
  }

  __device__ __forceinline__ float *scoreRow() const {
    return reinterpret_cast<float *>(memory + kSharedScores) + firstRow() * kScoreStride +
           laneColumn();
  }

  /// This warp's part of its rows' scores with the tile from position `begin` on.
  __device__ __forceinline__ void shareScores(i32 begin, const u8 *keys, const float *scales) {
    float scores[kWarpTiles][4];
    int first = part() * kWarpTiles * 8;
    scoreTile(query, keys + first * kKeyStride, scores);
    scaleScores(scales + first, begin + first, seen[0], seen[1], scores);
#pragma unroll
    for (int i = 0; i < kWarpTiles * 2; ++i)
      *reinterpret_cast<float2 *>(scoreRow() + i % 2 * 8 * kScoreStride + first + i / 2 * 8) = {
          scores[i / 2][i % 2 * 2], scores[i / 2][i % 2 * 2 + 1]};
  }

  __device__ __forceinline__ void loadScores(float (&scores)[kColumnTiles][4]) const {
#pragma unroll
    for (int i = 0; i < kColumnTiles * 2; ++i) {
      float2 pair =
          *reinterpret_cast<const float2 *>(scoreRow() + i % 2 * 8 * kScoreStride + i / 2 * 8);
      scores[i / 2][i % 2 * 2] = pair.x;
      scores[i / 2][i % 2 * 2 + 1] = pair.y;
    }
  }

  /// use(pair, i, row) of each of this lane's sums that exist.
  template <class Use> __device__ __forceinline__ void forSums(Use use) const {
#pragma unroll
    for (int pair = 0; pair < kWarpPairs; ++pair) {
      if (kPairs % (kWarpPairs * kParts) != 0 && firstPair() + pair >= kPairs)
        break;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (int row = firstRow() + i % 4 / 2 * 8; row < work.rows())
          use(pair, i, row);
    }
  }

  __device__ __forceinline__ void endSegment(int segment) {
    state.finish();
    if (kSplit && work.segments() > 1) {
      storePart(segment);
    } else {
      if (segment > work.firstSegment())
        mergeTotals();
      if (segment + 1 == work.endSegment())
        store();
      else
        keepTotals();
    }
    clear();
  }

  /// Where the part of a row in a segment lies.
  __device__ __forceinline__ float *partOf(int segment, int row) const {
    i64 segments = ceilDiv(launch.tableColumns() * constants::block_tokens, kSegment);
    i64 index = (work.first * kHeadBlocks + work.firstHead / kBlockHeads) * segments + segment;
    return workspace() + (index * kBlockHeads + row) * kPartFloats;
  }
  __device__ __forceinline__ float *workspace() const {
    return reinterpret_cast<float *>(launch.buffer<u8>(kWorkspace) + kCounterBytes);
  }

  __device__ __forceinline__ void storePart(int segment) const {
    forSums([&](int pair, int i, int row) {
      partOf(segment, row)[elementOf(firstPair() + pair, i)] = sums[pair][i / 4][i % 4];
    });
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (int row = firstRow() + half * 8;
          part() == 0 && laneIndex() % 4 == 0 && row < work.rows()) {
        partOf(segment, row)[kValueDim] = state.maximum[half];
        partOf(segment, row)[kValueDim + 1] = state.sum[half];
      }
  }

  /// This thread's totals of all segments before, kThreads apart: sums, then two maxima and the
  /// sums of two rows' weights.
  static constexpr int threadSums = kWarpPairs * 8, threadTotals = threadSums + 4;
  __device__ __forceinline__ float *totals() const {
    return workspace() + i64(blockIdx.x) * threadTotals * kThreads + threadIdx.x;
  }
  __device__ __forceinline__ void keepTotals() {
    float *to = totals();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      to[(threadSums + half) * kThreads] = state.maximum[half];
      to[(threadSums + 2 + half) * kThreads] = state.sum[half];
    }
#pragma unroll
    for (int i = 0; i < threadSums; ++i)
      to[i * kThreads] = sums[i / 8][i % 8 / 4][i % 4];
  }
  /// Merges the totals and the finished segment, into the latter.
  __device__ __forceinline__ void mergeTotals() {
    const float *from = totals();
    MergeFactors factors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A segment behind the row's last position is empty: it leaves the total as it is.
      factors[half] = mergeFactors(from[(threadSums + half) * kThreads], state.maximum[half]);
      state.maximum[half] = factors[half].maximum;
      state.sum[half] =
          mergeValue(factors[half], from[(threadSums + 2 + half) * kThreads], state.sum[half]);
    }
#pragma unroll
    for (int i = 0; i < threadSums; ++i) {
      float &sum = sums[i / 8][i % 8 / 4][i % 4];
      sum = mergeValue(factors[i % 4 / 2], from[i * kThreads], sum);
    }
  }

  /// Stores the result, of which `state` and `sums` have all segments.
  __device__ __forceinline__ void store() {
    if constexpr (constants::sinks != 0) {
      float factors[2] = {};
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (int row = firstRow() + half * 8; row < work.rows())
          factors[half] = addSink(launch, work.head(row), state.maximum[half], state.sum[half]);
      scaleSums(factors, sums);
    }
    forSums([&](int pair, int i, int row) {
      storeElement<constants::result_type>(
          launch.buffers[kResult], work.index(row) * kValueDim + elementOf(firstPair() + pair, i),
          sums[pair][i / 4][i % 4] / state.sum[i % 4 / 2]);
    });
  }

  const Launch &launch;
  const Work &work;
  u8 *memory;
  Query query;
  Seen seen[2];
  RowState state; ///< of the segment
  float sums[kWarpPairs][2][4];
};

/// One token, and a part of its segments.
INGOT_DEVICE void runSplit(const Launch &launch, u8 *memory) {
  Work work = {};
  work.first = blockIdx.z;
  work.count = 1;
  i32 position = launch.buffer<const i32>(1)[work.first];
  work.last = lastSeen(launch, work.first, position);
  work.begin = firstSeen(position) / kTile * kTile;
  work.firstHead = int(blockIdx.y) * kBlockHeads;
  work.sequence = sequenceOf(launch, work.first, 0);
  int firstSegment = work.firstSegment() + int(blockIdx.x);
  if (firstSegment >= work.endSegment())
    return;
  Attention attention(launch, work, memory);
  attention.run(firstSegment);
  if (work.segments() == 1)
    return;
  u32 *counter = launch.buffer<u32>(kWorkspace) + work.first * gridDim.y + blockIdx.y;
  if (arrivesLast(counter, u32(least(gridDim.x, work.segments()))))
    attention.storeMerged(*reinterpret_cast<MergeSpace *>(memory));
}

/// Tiles of tokens, as many blocks apart as there are.
INGOT_DEVICE void runWhole(const Launch &launch, u8 *memory) {
  __shared__ TokenSearch search;
  for (u32 index = blockIdx.x;; index += gridDim.x) {
    Work work = {};
    static_cast<TokenTile &>(work) = findTokenTile(launch, index / kHeadBlocks, search);
    if (work.count == 0)
      return;
    work.firstHead = int(index % kHeadBlocks) * kBlockHeads;
    work.sequence = sequenceOf(launch, work.first, 0);
    Attention(launch, work, memory).run(work.firstSegment());
    ptx::waitCopies<0>();
    __syncthreads();
  }
}

} // namespace

__device__ void run(const Launch &launch) {
  extern __shared__ __align__(128) u8 memory[];
  if constexpr (kSplit)
    runSplit(launch, memory);
  else
    runWhole(launch, memory);
}
