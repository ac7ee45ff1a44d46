// SPDX-License-Identifier: Apache-2.0
// llm.attention for prompts and mixed batches: a block takes one KV head and a tile of tokens of
// one sequence that stand side by side; a row is a query head of a token. Warps with 16 rows of
// their own need registers and shared memory for all of the head's columns: where large heads leave
// too little, and where the rows are few (a token that is generated), warps with the same rows
// share a tile's scores by positions and its values by columns, as AttentionDecode.cu does. A
// segment's part is merged into the total before the next. Numbers as AttentionTile.cuh has them,
// whatever the tile. Buffers: query, positions, token_sequences, block_table, cache, sinks and
// reaches where there are any, result, workspace (unused).
#include "AttentionTokens.cuh"

namespace {

constexpr int kRowWarps = int(constants::row_warps); ///< warps with rows of their own
constexpr int kTileRows = kRowWarps * kRows;
static_assert(kTileTokens * kGroup <= kTileRows);

/// Shared memory: a tile of keys and one of values with their scales, the query; then the scores
/// that warps share and the totals of every thread's sums.
constexpr int kSharedKeys = 0;
constexpr int kSharedValues = kSharedKeys + kKeyBytes + kScaleBytes;
constexpr int kSharedQuery = kSharedValues + kValueBytes + kScaleBytes;
constexpr int kSharedTotals = kSharedQuery + kTileRows * kHeadDim * 2;
constexpr int kScoreStride = kTile + 8;
constexpr bool kHasWide = kTileTokens * kGroup > kRows, kHasNarrow = kGroup <= kRows;
/// Floats of the scores that are shared when `rowWarps` have rows of their own.
INGOT_DEVICE constexpr i64 scoreFloats(int rowWarps) {
  return rowWarps == kWarps ? 0 : rowWarps * kRows * kScoreStride;
}
/// Bytes of those and of the sums of all threads.
INGOT_DEVICE constexpr i64 totalBytes(int rowWarps) {
  return (scoreFloats(rowWarps) + ceilDiv(kPairs, kWarps / rowWarps) * 8 * kThreads) * 4;
}
static_assert(constants::shared_bytes == kSharedTotals + most(kHasWide ? totalBytes(kRowWarps) : 0,
                                                              kHasNarrow ? totalBytes(1) : 0));

/// A tile of tokens, and one KV head.
struct Work : TokenTile {
  KvSequence sequence;

  __device__ __forceinline__ int rows() const { return count * kGroup; }
  __device__ __forceinline__ i64 element(int row) const {
    i64 head = (first + row / kGroup) * kQueryHeads + sequence.head * kGroup + row % kGroup;
    return head * kHeadDim;
  }
};

/// The work of tile number `index` of `head`; no rows if there is none.
INGOT_DEVICE Work findWork(const Launch &launch, u32 index, int head, TokenSearch &search) {
  Work work;
  static_cast<TokenTile &>(work) = findTokenTile(launch, index, search);
  if (work.count > 0)
    work.sequence = sequenceOf(launch, work.first, head);
  return work;
}

/// How the warps of a block divide a tile: into rows for RowWarps of them, those into positions and
/// columns.
template <int RowWarps> class Attention {
public:
  static constexpr int parts = kWarps / RowWarps; ///< warps with the same rows
  static constexpr int tiles = kColumnTiles / parts;
  static constexpr int pairs = int(ceilDiv(kPairs, parts));

  __device__ __forceinline__ Attention(const Launch &launch, const Work &work, u8 *memory)
      : launch(launch), work(work), memory(memory),
        query(memory + kSharedQuery + rowWarp() * kRows * kHeadDim * 2) {}

  __device__ __forceinline__ void run() {
    begin();
    for (i32 at = work.begin; at <= work.last; at += kTile) {
      copyTile<false>(work.sequence, at, work.last + 1, address(kSharedValues),
                      address(kSharedValues + kValueBytes));
      ptx::commitCopies();
      ptx::waitCopies<1>();
      __syncthreads();
      float scores[kColumnTiles][4], before[2];
      score(at, scores);
      if (at + kTile <= work.last)
        copyTile<true>(work.sequence, at + kTile, work.last + 1, address(kSharedKeys),
                       address(kSharedKeys + kKeyBytes));
      ptx::commitCopies();
      weigh<2>(scores, state, before);
      scaleSums(before, sums);
      ptx::waitCopies<1>();
      __syncthreads();
      addValues<2>(scores, memory + kSharedValues,
                   reinterpret_cast<const float *>(memory + kSharedValues + kValueBytes),
                   firstPair(), sums);
      if (at % kSegment + kTile == kSegment && at + kTile <= work.last)
        endSegment(at / kSegment == work.begin / kSegment);
      __syncthreads();
    }
    state.finish();
    store();
  }

private:
  __device__ __forceinline__ u32 address(int offset) const {
    return ptx::sharedAddress(memory + offset);
  }
  __device__ __forceinline__ int rowWarp() const { return warpIndex() / parts; }
  __device__ __forceinline__ int part() const { return warpIndex() % parts; }
  __device__ __forceinline__ int firstRow() const { return rowWarp() * kRows + laneRow(); }
  __device__ __forceinline__ int firstPair() const { return part() * pairs; }

  __device__ __forceinline__ const void *queryRow(int row) const {
    return row < work.rows() ? launch.buffer<const u16>(0) + work.element(row) : nullptr;
  }
  /// What a row attends to; nothing for rows past the end.
  __device__ __forceinline__ Seen seenBy(int row) const {
    Seen found = {-1, -1};
    if (row < work.rows()) {
      i64 token = work.first + row / kGroup;
      found.position = launch.buffer<const i32>(1)[token];
      found.last = lastSeen(launch, token, found.position);
    }
    return found;
  }

  __device__ __forceinline__ void begin() {
    copyTile<true>(work.sequence, work.begin, work.last + 1, address(kSharedKeys),
                   address(kSharedKeys + kKeyBytes));
    ptx::commitCopies();
    query.load(queryRow(firstRow()), queryRow(firstRow() + 8), part() == 0);
    seen[0] = seenBy(firstRow());
    seen[1] = seenBy(firstRow() + 8);
    state.clear();
    clearSums();
  }

  __device__ __forceinline__ void clearSums() {
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sums[pair][i / 4][i % 4] = 0;
  }

  /// The scores of the tile from position `at` on. Keys are free afterwards.
  __device__ __forceinline__ void score(i32 at, float (&scores)[kColumnTiles][4]) {
    const u8 *keys = memory + kSharedKeys;
    auto *scales = reinterpret_cast<const float *>(keys + kKeyBytes);
    if constexpr (parts == 1) {
      scoreTile(query, keys, scores);
      scaleScores(scales, at, seen[0], seen[1], scores);
      __syncthreads();
      return;
    }
    float own[tiles][4];
    int first = part() * tiles * 8;
    scoreTile(query, keys + first * kKeyStride, own);
    scaleScores(scales + first, at + first, seen[0], seen[1], own);
    float *shared = reinterpret_cast<float *>(memory + kSharedTotals) + firstRow() * kScoreStride +
                    laneColumn();
#pragma unroll
    for (int i = 0; i < tiles * 2; ++i)
      *reinterpret_cast<float2 *>(shared + i % 2 * 8 * kScoreStride + first +
                                  i / 2 * 8) = {own[i / 2][i % 2 * 2], own[i / 2][i % 2 * 2 + 1]};
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kColumnTiles * 2; ++i) {
      float2 pair =
          *reinterpret_cast<const float2 *>(shared + i % 2 * 8 * kScoreStride + i / 2 * 8);
      scores[i / 2][i % 2 * 2] = pair.x;
      scores[i / 2][i % 2 * 2 + 1] = pair.y;
    }
  }

  /// This thread's totals, kThreads apart.
  __device__ __forceinline__ float *totals() const {
    return reinterpret_cast<float *>(memory + kSharedTotals) + scoreFloats(RowWarps) + threadIdx.x;
  }

  /// Merges the segment into the total and starts the next.
  __device__ __forceinline__ void endSegment(bool isFirst) {
    state.finish();
    if (isFirst) {
      total = state;
#pragma unroll
      for (int i = 0; i < pairs * 8; ++i)
        totals()[i * kThreads] = sums[i / 8][i % 8 / 4][i % 4];
    } else {
      merge([&](int i, float value) { totals()[i * kThreads] = value; });
    }
    state.clear();
    clearSums();
  }

  /// Merges the finished segment into the total, whose sums go to `use`.
  template <class Use> __device__ __forceinline__ void merge(Use use) {
    MergeFactors factors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A segment behind the row's last position is empty: it leaves the total as it is.
      factors[half] = mergeFactors(total.maximum[half], state.maximum[half]);
      total.maximum[half] = factors[half].maximum;
      total.sum[half] = mergeValue(factors[half], total.sum[half], state.sum[half]);
    }
#pragma unroll
    for (int i = 0; i < pairs * 8; ++i)
      use(i, mergeValue(factors[i % 4 / 2], totals()[i * kThreads], sums[i / 8][i % 8 / 4][i % 4]));
  }

  /// Takes the sinks of this lane's rows into the total, whose weighted values are in `sums`.
  __device__ __forceinline__ void addSinks() {
    float factors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int head = work.sequence.head * kGroup + (firstRow() + half * 8) % kGroup;
      factors[half] = addSink(launch, head, total.maximum[half], total.sum[half]);
    }
    scaleSums(factors, sums);
  }

  __device__ __forceinline__ void store() {
    if (work.last / kSegment > work.begin / kSegment)
      merge([&](int i, float value) { sums[i / 8][i % 8 / 4][i % 4] = value; });
    else
      total = state;
    if constexpr (constants::sinks != 0)
      addSinks();
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair) {
      if (kPairs % (pairs * kWarps) != 0 && firstPair() + pair >= kPairs)
        break;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        int half = i % 4 / 2, row = firstRow() + half * 8;
        if (row < work.rows())
          storeElement<constants::result_type>(launch.buffers[resultBuffer()],
                                               work.element(row) + elementOf(firstPair() + pair, i),
                                               sums[pair][i / 4][i % 4] / total.sum[half]);
      }
    }
  }

  const Launch &launch;
  const Work &work;
  u8 *memory;
  QueryShared query;
  Seen seen[2];
  RowState state, total; ///< of the segment and of all before it
  float sums[pairs][2][4];
};

} // namespace

__device__ void run(const Launch &launch) {
  extern __shared__ __align__(16) u8 memory[];
  __shared__ TokenSearch search;
  for (u32 index = blockIdx.x;; index += gridDim.x) {
    Work work = findWork(launch, index, int(blockIdx.y), search);
    if (work.count == 0)
      return;
    bool isWide = work.rows() > kRows;
    if constexpr (kHasWide)
      if (isWide)
        Attention<kRowWarps>(launch, work, memory).run();
    if constexpr (kHasNarrow)
      if (!isWide)
        Attention<1>(launch, work, memory).run();
    __syncthreads();
  }
}
