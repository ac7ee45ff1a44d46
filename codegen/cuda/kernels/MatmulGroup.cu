// SPDX-License-Identifier: Apache-2.0
// llm.matmul by wgmma, for sm_90a: a warp group multiplies 64 rows of the weight by 8 to 256 tokens,
// which it reads from shared memory; so it does weights that need no decoding, and others decoded,
// in registers. Blocks, shares of k and the order of sums are those of MatmulTensor; but totals of
// segments stand in shared memory, so that tiles of many tokens have registers for their open sums,
// and blocks that share k may be a cluster, of which each adds all sums of some rows. But for
// experts a warp more brings weights and inputs to stages that the warp groups empty, each at its
// own pace.
#define INGOT_WAITS_ITSELF
#include "MatmulSums.cuh"
#include "PtxWarpGroup.cuh"

namespace absent {
enum : i64 { cluster_blocks = 1 };
} // namespace absent
namespace constants {
using namespace absent; // what a launch without a cluster leaves out is found there
}

/// The swizzle goes by addresses.
extern __shared__ __align__(1024) u8 shared[];

namespace {

using namespace matmul;

static_assert(constants::warps_along % 4 == 0 && constants::warps_across == 1 && kRows == 1,
              "a warp has 16 of its group's 64 rows");

/// Bytes of depth side by side in a swizzled row, and what all such rows of a stage take.
constexpr int kSwizzledBytes = 128, kPanelBytes = kTileTokens * kSwizzledBytes;
constexpr int kSwizzleAlignment = 1024;
static_assert(kInputAlignment % kSwizzleAlignment == 0 && kRowBytes % kSwizzledBytes == 0);

constexpr int kStepProducts = kStepDepth / kProductDepth;
/// Columns after which the sums of tensor cores, which keep few bits, join those in f32; 0: they
/// keep all.
constexpr int kPromoted = int(constants::promoted);
static_assert(kPromoted == 0 || !kGrouped || kPromoted % kGroup == 0);
/// Whether sums are closed before their segment ends.
constexpr bool kCloses = kGrouped || kPromoted > 0;
static_assert(!kCrosses || (kStoredMatrices && constants::producer_threads > 0 && !kScaleCodes &&
                            constants::warps_along == 8));
/// Whether products of one stage are under way together with the next one's. With few tokens
/// memory is what takes time.
constexpr bool kOverlapsStages = kCrosses && !kCloses && constants::producer_threads == 128;
/// Blocks of the cluster that share k; 1: none.
constexpr int kClustered = int(constants::cluster_blocks);
/// Where the totals of segments stand; of clusters a place for each of the block's segments, but
/// for those of the first block, which it adds.
constexpr int kTotalsOffset = int(constants::totals_offset), kTotalBytes = kQuads * kThreads * 16;
static_assert(kSegments == 1 ||
                  (kTotalsOffset >= kStages * kStageBytes &&
                   kTotalsOffset + (kClustered > 1 ? ceilDiv(kSegments, kClustered) : 1) *
                                       kTotalBytes <= constants::shared_bytes),
              "the provider counts alike");

/// A thread's part of bringing inputs, in panels of kSwizzledBytes of depth.
struct SwizzledInputs {
  static constexpr int kChunks = kSwizzledBytes / 16;
  static_assert(kThreads / kChunks % 8 == 0, "the swizzle is alike for every pass");

  InputRows<kByExpert, kChunks>::Type inputs;
  int token = int(threadIdx.x) / kChunks, chunk = int(threadIdx.x) % kChunks;
  u32 to = u32(kInputsOffset + token * kSwizzledBytes + (chunk ^ (token & 7)) * 16);

  __device__ SwizzledInputs(const Launch &launch, const Tile &tile)
      : inputs(launch.buffers[kInput], tile.tokens) {}

  __device__ void copy(u32 stage, int k) const {
#pragma unroll
    for (int panel = 0; panel < kRowBytes / kSwizzledBytes; ++panel)
      inputs.copy(stage + to + panel * kPanelBytes, k * kInputBytes + panel * kSwizzledBytes,
                  (int(kDepth) - k) * kInputBytes / 16 - panel * kChunks);
  }
};

/// Of eight rows by 16 bytes; of a tile's block the first and second rows of each half of k.
constexpr u32 kMatrixBytes = 8 * 16;
INGOT_DEVICE u64 weightMatrices(u32 shared) {
  return ptx::matricesOperand(shared, 2 * kMatrixBytes, Weights::kTileBytes);
}

/// One block's work on its share of k.
struct Work : Block {
  Sums<float> open = {};    ///< of products since a sum was closed
  Sums<float> segment = {}; ///< of closed groups
  Sums<float> total = {};   ///< in the end
  u32 accumulates = 0;      ///< whether the open sums have begun
  bool hasTotals = false;   ///< whether a segment was closed
  WeightTensors weights;
  // Lower bits of the operands in the first stage.
  u32 firstInputs = u32(ptx::swizzledOperand(base + kInputsOffset)), firstWeights = 0;

  __device__ Work(const Launch &launch, const Tile &tile, u8 *memory)
      : Block(launch, tile, memory), weights(launch, tile, base) {
    ptx::pin(firstInputs);
    if constexpr (kCrosses) {
      firstWeights = u32(weightMatrices(base + warp.index / 4 * kMatrixBytes));
      ptx::pin(firstWeights);
    }
    if constexpr (kClustered > 1)
      aside = reinterpret_cast<uint4 *>(memory + kTotalsOffset) + threadIdx.x;
  }

  __device__ auto &result() { return total; }

  /// Keeps the compiler from moving open sums into the time of unfinished products, or out of it.
  __device__ void pinOpen() {
    forEachSum([&](int r, int c, int i) { ptx::pin(open.of[r][c][i]); });
  }

  /// The sums of all products so far are there.
  __device__ void waitProducts() {
    ptx::waitProducts<0>();
    pinOpen();
  }

  /// Adds the open sums, whose scales lie in the stage, if there are any.
  __device__ void closeGroup(u32 stageOffset, int group) {
    GroupNumbers numbers = {{1.0f, 1.0f}, {}};
    if constexpr (kGrouped)
      numbers = groupNumbers(stageOffset, 0, group);
    forEachSum([&](int r, int c, int i) {
      float &sum = segment.of[r][c][i];
      if constexpr (kGrouped)
        sum = __fmaf_rn(open.of[r][c][i], numbers.scale[i / 2], sum);
      else
        sum += open.of[r][c][i];
    });
    accumulates = 0;
  }

  /// Adds the segment that ends, or puts it aside.
  __device__ void closeSegment() {
    if constexpr (kCloses) {
      addSegment(segment);
      segment.clear();
    } else {
      addSegment(open);
      accumulates = 0;
    }
  }
  __device__ void addSegment(const Sums<float> &sums) {
    if (putsAside(sums))
      return;
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
      float4 *at = totals() + c * kThreads;
      float4 quad = hasTotals ? *at : float4{0, 0, 0, 0};
      const float (&of)[4] = sums.of[0][c];
      *at = {quad.x + of[0], quad.y + of[1], quad.z + of[2], quad.w + of[3]};
    }
    hasTotals = true;
  }
  /// This thread's, kThreads apart.
  __device__ float4 *totals() const {
    return reinterpret_cast<float4 *>(memory + kTotalsOffset) + threadIdx.x;
  }

  /// Takes the share's sum into registers.
  __device__ void loadTotal() {
    if constexpr (kSegments == 1) {
      const Sums<float> &all = kCloses ? segment : open;
      forEachSum([&](int r, int c, int i) { total.of[r][c][i] = 0.0f + all.of[r][c][i]; });
    } else if (hasTotals) {
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        float4 quad = totals()[c * kThreads];
        total.of[0][c][0] = quad.x;
        total.of[0][c][1] = quad.y;
        total.of[0][c][2] = quad.z;
        total.of[0][c][3] = quad.w;
      }
    }
  }

  /// The tokens' side of the product of columns from `column` of the stage on.
  __device__ u64 inputs(u32 stageOffset, int column) const {
    int byte = column * kInputBytes;
    return ptx::operandBehind(ptx::swizzledOperand(0), firstInputs + (stageOffset >> 4),
                              byte / kSwizzledBytes * kPanelBytes + byte % kSwizzledBytes);
  }

  /// `a`: in registers or in shared memory.
  template <class Left> __device__ void multiply(const Left &a, u64 b) {
    if constexpr (kProduct == Product::Float8)
      ptx::GroupProduct<kBlocks>::e4m3(open.of[0], a, b, accumulates);
    else if constexpr (kProduct == Product::Bf16)
      ptx::GroupProduct<kBlocks>::bf16(open.of[0], a, b, accumulates);
    else
      ptx::GroupProduct<kBlocks>::f16(open.of[0], a, b, accumulates);
    accumulates = 1;
  }

  /// The weights of a step's products, and with `Rest` what halves leave of the code book's
  /// numbers.
  template <bool Rest> struct Fragments {
    u32 of[kStepProducts][4];
    u32 rest[Rest ? kStepProducts : 1][4];
  };
  template <int Index, bool Rest>
  __device__ void decode(Fragments<Rest> &fragments, const u32 (&words)[kStepWords],
                         u32 stageOffset, int depth) const {
    if constexpr (Index < kStepProducts) {
      if constexpr (kLooksUp) {
        book.lookUp<false>(fragments.of[Index], words[Index]);
        if constexpr (Rest)
          book.lookUp<true>(fragments.rest[Index], words[Index]);
      } else {
        u32 zero[2] = {};
        if constexpr (kSubtracts)
          zeros(stageOffset, 0, groupAt(depth + Index * kProductDepth), zero);
        decodeWeights<Index>(fragments.of[Index], words, zero);
      }
      decode<Index + 1>(fragments, words, stageOffset, depth);
    }
  }
  /// The group of a column, of those of the stage.
  static __device__ int groupAt(int column) { return kStageGroups > 1 ? column / kGroup : 0; }

  /// Whether open sums are closed behind `column` columns of the stage that begins at `k`.
  static __device__ bool closesAt(int column, int k) {
    if constexpr (kGrouped)
      return column % kGroupStep == 0 && groupEnds(column, k);
    return kPromoted > 0 && (column % most(kPromoted, 1) == 0 || column == kTileDepth);
  }

  template <int Index, bool Rest>
  __device__ void multiplyFrom(const Fragments<Rest> &fragments, u32 stageOffset, int depth,
                               int k) {
    if constexpr (Index < kStepProducts) {
      int column = depth + Index * kProductDepth;
      multiply(fragments.of[Index], inputs(stageOffset, column));
      if constexpr (Rest)
        multiply(fragments.rest[Index], inputs(stageOffset, column));
      constexpr bool isLast = Index + 1 == kStepProducts;
      bool closes = kCloses && closesAt(column + kProductDepth, k);
      if (isLast || closes)
        ptx::commitProducts();
      if (closes) {
        waitProducts();
        closeGroup(stageOffset, groupAt(column));
        if constexpr (!isLast) {
          pinOpen();
          ptx::beginProducts();
        }
      }
      multiplyFrom<Index + 1>(fragments, stageOffset, depth, k);
    }
  }

  /// The weights' side of the product of columns from `column` of the stage on: the warp group's
  /// eight rows of all tiles.
  __device__ u64 leftOperand(u32 stageOffset, int column) const {
    return ptx::operandBehind(weightMatrices(0), firstWeights + (stageOffset >> 4),
                              column / kBlockDepth * kBlockBytes);
  }

  /// Multiplies the columns of a stage as they lie there. Where no sum is closed the products are
  /// under way when the next stage's begin.
  __device__ void multiplyStored(u32 stageOffset, int k) {
    pinOpen();
    ptx::beginProducts();
#pragma unroll
    for (int column = 0; column < kTileDepth; column += kProductDepth) {
      multiply(leftOperand(stageOffset, column), inputs(stageOffset, column));
      int end = column + kProductDepth;
      bool closes = kCloses && closesAt(end, k);
      if (end == kTileDepth || closes)
        ptx::commitProducts();
      if (closes) {
        waitProducts();
        closeGroup(stageOffset, groupAt(column));
        if (end < kTileDepth) {
          pinOpen();
          ptx::beginProducts();
        }
      }
    }
  }

  /// Multiplies the columns of a stage. Products of a step are under way while the next one's
  /// weights are decoded.
  template <bool Rest> __device__ void multiplyStage(u32 stageOffset, int k) {
#pragma unroll
    for (int depth = 0; depth < kTileDepth; depth += kStepDepth) {
      u32 words[kStepWords];
      loadWeights(words, memory + stageOffset + warp.rowTile(0) * Weights::kTileBytes +
                             depth / kBlockDepth * kBlockBytes);
      Fragments<Rest> fragments;
      decode<0>(fragments, words, stageOffset, depth);
      if (depth == 0 || kCloses)
        pinOpen();
      ptx::beginProducts();
      multiplyFrom<0>(fragments, stageOffset, depth, k);
    }
    waitProducts();
  }

  /// True where all sums are there, to be stored; the blocks of a cluster store them themselves.
  __device__ bool addShares(Sums<float> &sums) const {
    if constexpr (kClustered > 1)
      return storePart(), false;
    else
      return Block::addShares(sums);
  }
  __device__ void storePart() const;
  __device__ float2 clusterSum(u32 place) const;

  template <bool Rest> __device__ void run();
  __device__ bool multiplies() const;
  __device__ void produce() const;
  template <bool Rest> __device__ void consume();
};

/// Whether a whole warp group copies, and leaves registers to those that multiply: of a thread that
/// copies, and of one of kThreads that multiply.
constexpr bool kTrades = constants::producer_threads == 128;
constexpr int kCopyRegisters = 40, kMultiplyRegisters = 232;
static_assert(!kTrades || kThreads == 256);

/// Brings all stages of the share of k, by one thread.
__device__ void Work::produce() const {
  int steps = (end - begin + kTileDepth - 1) / kTileDepth;
  auto bringInputs = [&](u32 stage, int k) {
#pragma unroll
    for (int panel = 0; panel < kRowBytes / kSwizzledBytes; ++panel)
      ptx::copyTensor(stage + kInputsOffset + panel * kPanelBytes,
                      launch.maps[constants::tensor_maps - 1],
                      k + panel * (kSwizzledBytes / kInputBytes), int(tile.tokens.first),
                      stage + kBarrierOffset);
  };
  // Weights do not depend on the kernels before this one.
#pragma unroll
  for (int step = 0; step < kStages; ++step)
    if (step < steps)
      weights.copy(base + step * kStageBytes, begin + step * kTileDepth);
  ptx::waitForEarlierKernels();
  bool elected = weights.isCopying && ptx::isElected();
#pragma unroll
  for (int step = 0; step < kStages; ++step)
    if (elected && step < steps)
      bringInputs(base + step * kStageBytes, begin + step * kTileDepth);
  u32 stage = base, parity = 0;
#pragma unroll 1
  for (int k = begin + kStages * kTileDepth; k < end; k += kTileDepth) {
    // Of columns that all follow from a counter NVRTC keeps now these, now those.
    ptx::pin(k);
    ptx::waitPhase(emptied(stage), parity);
    weights.copy(stage, k);
    if (elected)
      bringInputs(stage, k);
    stage = stage + kStageBytes == base + kStages * kStageBytes ? base : stage + kStageBytes;
    parity ^= stage == base;
  }
}

/// True for threads that multiply; others bring what these do, and are done then.
__device__ bool Work::multiplies() const {
  if (threadIdx.x < kThreads) {
    if constexpr (kTrades)
      ptx::takeRegisters<kMultiplyRegisters>();
    return true;
  }
  if constexpr (kTrades)
    ptx::releaseRegisters<kCopyRegisters>();
  if (weights.isCopying)
    produce();
  return false;
}

/// Multiplies what is brought, and closes segments, until the share of k is done.
template <bool Rest> __device__ void Work::consume() {
  ptx::waitForEarlierKernels();
  u32 reading = 0, parity = 0;
#pragma unroll 1
  for (int k = begin; k < end; k += kTileDepth) {
    weights.wait(base + reading, parity);
    if constexpr (kScaleCodes)
      Decoded::decode(memory, reading, warp.index, warp.rowTile(0), k,
                      launch.buffer<const float>(kSuperScales));
    if constexpr (kCrosses)
      multiplyStored(reading, k);
    else
      multiplyStage<Rest>(reading, k);
    u32 read = reading; // the stage that no product reads any more
    if constexpr (kOverlapsStages) {
      ptx::waitProducts<1>();
      read = reading == 0 ? (kStages - 1) * kStageBytes : reading - kStageBytes;
    } else if constexpr (kCrosses) {
      waitProducts();
    }
    if constexpr (!kCrosses)
      __syncwarp();
    ptx::arriveWhere(warp.lane == 0 && (!kOverlapsStages || k > begin), emptied(base + read));
    if constexpr (kSegments > 1)
      if ((k + kTileDepth) % kSegment == 0 || k + kTileDepth >= end) {
        if constexpr (kOverlapsStages)
          waitProducts();
        closeSegment();
      }
    reading = reading + kStageBytes == kStages * kStageBytes ? 0 : reading + kStageBytes;
    parity ^= reading == 0;
  }
  if constexpr (kOverlapsStages)
    waitProducts();
  loadTotal();
  // Everyone has passed the last barrier.
  ptx::syncFirst<kThreads>();
  weights.finish();
  ptx::syncFirst<kThreads>();
}

/// The sum of all segments of the tile for two numbers, in order; `place`: their address in this
/// block, of its first segment.
__device__ float2 Work::clusterSum(u32 place) const {
  float2 sum = {0, 0};
  auto add = [&](float2 part) { sum = {sum.x + part.x, sum.y + part.y}; };
  add(ptx::loadOfBlock(place, 0));
#pragma unroll
  for (int rank = 1; rank < kClustered; ++rank) {
    constexpr int segments = int(kSegments);
    int count = segments * (rank + 1) / kClustered - segments * rank / kClustered;
    for (int i = 0; i < count; ++i)
      add(ptx::loadOfBlock(place + i * kTotalBytes, rank));
  }
  return sum;
}

/// Adds and stores this block's part of the tile's rows, of which a block has eight times 16. All
/// blocks of the cluster have their sums in shared memory, and keep them until all are done.
__device__ void Work::storePart() const {
  int rank = int(blockIdx.z), first = kRowTiles * rank / kClustered;
  int own = kRowTiles * (rank + 1) / kClustered - first;
  ptx::syncCluster();
  for (int i = int(threadIdx.x); i < kQuads * own * 64; i += kThreads) {
    int lane = i % 32, eight = i / 32 % 2, rows = first + i / 64 % own, c = i / 64 / own;
    // The lane's quad has two of these rows; see Warp::row.
    int owner = kCrosses ? rows / 2 + eight * 4 : rows, half = kCrosses ? rows % 2 : eight;
    float2 sum =
        clusterSum(base + kTotalsOffset + (c * kThreads + owner * 32 + lane) * 16 + half * 8);
    int row = rows * 16 + eight * 8 + lane / 4, token = c * 8 + lane % 4 * 2;
    placeSum(row, token, sum.x);
    placeSum(row, token + 1, sum.y);
  }
  ptx::syncFirst<kThreads>();
  storeRows(first * 16, own * 16);
  ptx::syncCluster();
}

/// Copies, multiplies and closes segments until the share of k is done.
template <bool Rest> __device__ void Work::run() {
  if constexpr (kProduces)
    return consume<Rest>();
  SwizzledInputs inputs(launch, tile);
  int steps = (end - begin + kTileDepth - 1) / kTileDepth;
  // Weights do not depend on the kernels before this one.
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step)
    if (step < steps)
      weights.copy(base + step * kStageBytes, begin + step * kTileDepth);
  ptx::waitForEarlierKernels();
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps)
      inputs.copy(base + step * kStageBytes, begin + step * kTileDepth);
    ptx::commitCopies();
  }
  u32 reading = 0, writing = (kStages - 1) * kStageBytes; // stages, by their offset
  u32 parity = 0;
#pragma unroll 1
  for (int k = begin; k < end; k += kTileDepth) {
    weights.wait(base + reading, parity);
    ptx::waitCopies<kStages - 2>();
    ptx::publishOperands();
    __syncthreads();
    int next = k + (kStages - 1) * kTileDepth;
    if (next < end) {
      weights.copy(base + writing, next);
      inputs.copy(base + writing, next);
    }
    ptx::commitCopies();
    if constexpr (kScaleCodes)
      Decoded::decode(memory, reading, warp.index, warp.rowTile(0), k,
                      launch.buffer<const float>(kSuperScales));
    multiplyStage<Rest>(reading, k);
    if constexpr (kSegments > 1)
      if ((k + kTileDepth) % kSegment == 0 || k + kTileDepth >= end)
        closeSegment();
    writing = reading;
    reading = reading + kStageBytes == kStages * kStageBytes ? 0 : reading + kStageBytes;
    parity ^= reading == 0;
  }
  loadTotal();
  weights.finish();
  ptx::waitCopies<0>();
  __syncthreads();
}

} // namespace

__device__ void run(const Launch &launch) { runBlock<Work>(launch, shared); }
