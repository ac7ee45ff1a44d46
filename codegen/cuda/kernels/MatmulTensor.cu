// SPDX-License-Identifier: Apache-2.0
// llm.matmul on tensor cores (mma.sync), for every architecture: a block is some rows of the weight
// (blockIdx.y) by some tokens (blockIdx.x), and with gridDim.z > 1 a share of the segments of k.
// Sums of segments are formed alone and added in order, whatever the tile, the grid and the number
// of shares: so a token's result does not depend on them.
#define INGOT_WAITS_ITSELF
#include "Arrival.cuh"
#include "MatmulCodeBook.cuh"
#include "MatmulScales.cuh"

extern __shared__ __align__(128) u8 shared[];

namespace {

using namespace matmul;

constexpr int kRows = int(constants::row_tiles), kBlocks = int(constants::token_blocks);
constexpr int kHalves = kInputBytes == 2 ? 2 : 1; ///< loads of inputs in a step
constexpr int kHalfProducts = kStepDepth / kHalves / kProductDepth;
constexpr i64 kSegments = ceilDiv(kDepth, kSegment);
constexpr int kQuads = kRows * kBlocks; ///< a lane's sums, by four
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

/// With offsets: sums of the open group's inputs, as the product with a fragment of ones, whose
/// rows are all alike. Those of tokens 2t and 2t + 1 are the first two of four.
template <bool Needed> struct InputSums {
  float of[kBlocks][4];

  __device__ void add(int c, const u32 (&b)[2]) {
    constexpr u32 ones = kProduct == Product::Bf16 ? 0x3f803f80u : 0x3c003c00u;
    constexpr u32 fragment[4] = {ones, ones, ones, ones};
    multiply(of[c], fragment, b);
  }
  __device__ void clear() {
#pragma unroll
    for (int c = 0; c < kBlocks; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        of[c][i] = 0;
  }
  /// The group's sum with what `offset` adds to each of its weights.
  __device__ float withOffset(float sum, int c, int token, float offset) const {
    return __fmaf_rn(of[c][token], offset, sum);
  }
};
template <> struct InputSums<false> {
  __device__ void add(int, const u32 (&)[2]) {}
  __device__ void clear() {}
  __device__ float withOffset(float sum, int, int, float) const { return sum; }
};

using Decoded = DecodedScales<kRows>;

struct Warp {
  int lane = int(threadIdx.x) % 32, index = int(threadIdx.x) / 32;
  int along = index % int(constants::warps_along);
  int across = index / int(constants::warps_along);

  __device__ int rowTile(int r) const { return along * kRows + r; }
  __device__ int token(int c) const { return (across * kBlocks + c) * 8; }
  /// Where the lane finds its row of chunks `chunk` to `chunk` + 3 of the warp's first eight tokens
  /// in the inputs of a stage; `chunk` less whole eights.
  __device__ u32 inputLane(int chunk) const {
    return inputPlace(token(0) + lane % 8, chunk % 8 + lane / 8);
  }
};

/// One block's work on its share of k.
struct Work {
  const Launch &launch;
  Tile tile;
  Warp warp;
  u32 base;       ///< of the stages
  int begin, end; ///< of k
  uint4 *aside;   ///< place of the segment, where shares put it aside
  Book book;
  Sums<Accumulator> open; ///< of the group, or of the segment where there are no groups
  Sums<float> segment;    ///< of closed groups
  Sums<float> total;      ///< of closed segments, or of groups of integers
  InputSums<kAddsOffsets> inputSums;

  /// The zeros of rows g and g + 8 of a tile for group `group` of the stage.
  __device__ void zeros(u32 stageOffset, int r, int group, u32 (&pair)[2]) const {
    if constexpr (Zeros::kBytes > 0 && !kAddsOffsets) {
      int at = (warp.rowTile(r) * kStageGroups + group) * 16 + warp.lane / 4 * 2;
      pair[0] = zeroWord(shared[stageOffset + kZerosOffset + at]);
      pair[1] = zeroWord(shared[stageOffset + kZerosOffset + at + 1]);
    } else {
      pair[0] = pair[1] = zeroWord(kMiddle);
    }
  }

  /// What the sums of rows g and g + 8 of a tile are scaled by, and what must be added to their
  /// weights then.
  __device__ GroupNumbers groupNumbers(u32 stageOffset, int r, int group) const {
    if constexpr (kScaleCodes)
      return Decoded::load(shared, warp.index, r, group);
    GroupNumbers numbers = {};
    int at = (warp.rowTile(r) * kStageGroups + group) * 16 + warp.lane / 4 * 2;
    const u8 *stage = shared + stageOffset;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      numbers.scale[i] = loadElement<constants::scale_type>(stage + kScalesOffset, at + i);
      if constexpr (kAddsOffsets)
        numbers.offset[i] = loadElement<constants::scale_type>(stage + kZerosOffset, at + i);
    }
    moveToMiddle(numbers);
    return numbers;
  }

  /// Adds the open group, whose scales lie in the stage.
  __device__ void closeGroup(u32 stageOffset, int group) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      auto [scale, offset] = groupNumbers(stageOffset, r, group);
#pragma unroll
      for (int c = 0; c < kBlocks; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if constexpr (kInteger)
            total.of[r][c][i] = __fmaf_rn(float(open.of[r][c][i]), scale[i / 2], total.of[r][c][i]);
          else
            segment.of[r][c][i] =
                inputSums.withOffset(__fmaf_rn(open.of[r][c][i], scale[i / 2], segment.of[r][c][i]),
                                     c, i % 2, offset[i / 2]);
          open.of[r][c][i] = 0;
        }
    }
    inputSums.clear();
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

  /// Adds the segment that ends. A share but the first one, whose sums come before all others, puts
  /// it aside for the block that adds them.
  __device__ void closeSegment() {
    if constexpr (kGrouped)
      addSegment(segment);
    else
      addSegment(open);
  }
  template <class Number> __device__ void addSegment(Sums<Number> &sums) {
    if (kShares && blockIdx.z > 0) {
      putAside(aside, sums);
      aside += kThreads * kQuads;
    } else {
      forEachSum([&](int r, int c, int i) { total.of[r][c][i] += float(sums.of[r][c][i]); });
    }
    sums.clear();
  }

  /// The lane's words of a step, whose blocks begin at `block`.
  __device__ void loadWeights(u32 (&words)[kStepWords], const u8 *block) const {
    if constexpr (kPlanes) {
      LanePlanes<kWeightType> planes(block, warp.lane);
#pragma unroll
      for (int w = 0; w < kStepWords; ++w)
        words[w] = planes.bytes[w];
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

  /// Multiplies kStepDepth columns of the stage from `depth` on. `Rest`: with what halves leave of
  /// the code book's numbers.
  template <bool Rest> __device__ void multiplyStep(u32 stageOffset, int depth, int k) {
    u32 words[kRows][kStepWords];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      loadWeights(words[r], shared + stageOffset + warp.rowTile(r) * Weights::kTileBytes +
                                depth / kBlockDepth * kBlockBytes);
    multiplyHalf<0, Rest>(stageOffset, depth, words, k);
    if constexpr (kHalves == 2)
      multiplyHalf<1, Rest>(stageOffset, depth, words, k);
  }

  /// One load of inputs for each block of tokens, and the products with it.
  template <int Half, bool Rest>
  __device__ void multiplyHalf(u32 stageOffset, int depth, const u32 (&words)[kRows][kStepWords],
                               int k) {
    u32 inputs[kBlocks][4];
    int chunk = depth * kInputBytes / 16 + Half * 4; // and the three after it
    u32 from = base + stageOffset + warp.inputLane(chunk) + chunk / 8 * 128;
#pragma unroll
    for (int c = 0; c < kBlocks; ++c)
      ptx::loadMatrix4(inputs[c], from + c * 8 * kRowBytes);
    multiplyProducts<Half * kHalfProducts, (Half + 1) * kHalfProducts, Rest>(stageOffset, depth,
                                                                             words, inputs, k);
  }

  template <int Index, int End, bool Rest>
  __device__ void multiplyProducts(u32 stageOffset, int depth,
                                   const u32 (&words)[kRows][kStepWords],
                                   const u32 (&inputs)[kBlocks][4], int k) {
    if constexpr (Index < End) {
      int group = kStageGroups > 1 ? (depth + Index * kProductDepth) / kGroup : 0;
      u32 a[kRows][4];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        u32 zero[2] = {};
        if constexpr (kSubtracts)
          zeros(stageOffset, r, group, zero);
        if constexpr (kLooksUp)
          book.lookUp<false>(a[r], words[r][Index]);
        else
          decodeWeights<Index>(a[r], words[r], zero);
      }
      multiplyFragments<Index>(a, inputs);
      addInputs<Index>(inputs);
      if constexpr (Rest) {
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          book.lookUp<true>(a[r], words[r][Index]);
        multiplyFragments<Index>(a, inputs);
      }
      constexpr int last = (Index + 1) * kProductDepth; // columns of the step that are done
      if constexpr (kGrouped && last % kGroupStep == 0)
        if (groupEnds(depth + last, k))
          closeGroup(stageOffset, group);
      multiplyProducts<Index + 1, End, Rest>(stageOffset, depth, words, inputs, k);
    }
  }

  /// Adds the products of the weights' fragments and step `Index` of the inputs.
  template <int Index>
  __device__ void multiplyFragments(const u32 (&a)[kRows][4], const u32 (&inputs)[kBlocks][4]) {
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
      u32 b[2];
      decodeInputs<Index>(b, inputs[c]);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        multiply(open.of[r][c], a[r], b);
    }
  }

  /// Adds step `Index` of the inputs to their sums.
  template <int Index> __device__ void addInputs(const u32 (&inputs)[kBlocks][4]) {
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
      u32 b[2];
      decodeInputs<Index>(b, inputs[c]);
      inputSums.add(c, b);
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

  template <bool Rest> __device__ void run();
  template <class Number> __device__ void addParts(Sums<Number> &sums, i64 part, i64 end);
  __device__ bool addShares();
  __device__ void store();
};

/// Copies, multiplies and closes segments until the share of k is done.
template <bool Rest> __device__ void Work::run() {
  WeightWay weights(launch, tile, base);
  InputCopies inputs(launch, tile);
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
    __syncthreads();
    int next = k + (kStages - 1) * kTileDepth;
    if (next < end) {
      weights.copy(base + writing, next);
      inputs.copy(base + writing, next);
    }
    ptx::commitCopies();
    if constexpr (kScaleCodes)
      Decoded::decode(shared, reading, warp.index, warp.rowTile(0), k,
                      launch.buffer<const float>(kSuperScales));
#pragma unroll
    for (int depth = 0; depth < kTileDepth; depth += kStepDepth)
      multiplyStep<Rest>(reading, depth, k);
    if constexpr (!kInteger && kSegments > 1)
      if ((k + kTileDepth) % kSegment == 0 || k + kTileDepth >= end)
        closeSegment();
    writing = reading;
    reading = reading + kStageBytes == kStages * kStageBytes ? 0 : reading + kStageBytes;
    parity ^= reading == 0;
  }
  // Where all of k is one segment the total takes no registers before.
  if constexpr (!kInteger && kSegments == 1)
    closeSegment();
  weights.finish();
  ptx::waitCopies<0>();
  __syncthreads();
}

/// Adds the parts [part, end) in order to `sums`. So many loads are under way at once that memory's
/// latency counts once for some parts and not for each; the order of additions is the same.
template <class Number> __device__ void Work::addParts(Sums<Number> &sums, i64 part, i64 end) {
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

/// With shares: whether this block is the last of its tile, which then has all sums.
__device__ bool Work::addShares() {
  // The first share has added its own segments; their sum stands in the place of the last of them.
  i64 first = kInteger ? 0 : kSegments / gridDim.z - 1;
  if constexpr (kInteger)
    putAside(place(blockIdx.z), open);
  else if (blockIdx.z == 0)
    putAside(place(first), total);
  if (!arrivesLast(launch.buffer<u32>(kWorkspace) + blockIdx.y * gridDim.x + blockIdx.x, gridDim.z))
    return false;
  if constexpr (kInteger) {
    open.clear();
    addParts(open, first, gridDim.z);
  } else {
    total.clear();
    addParts(total, first, kSegments);
  }
  return true;
}

/// Epilogue and result, element by element in the order of memory.
__device__ void Work::store() {
  constexpr int stride = kTileRows + 4;
  constexpr int columns = kPaired ? kTileRows / 2 : kTileRows;
  float *sums = reinterpret_cast<float *>(shared);
  static_assert(kTileTokens * stride * 4 <= constants::shared_bytes, "the provider counts alike");
  forEachSum([&](int r, int c, int i) {
    float sum = kInteger && !kGrouped ? float(open.of[r][c][i]) : total.of[r][c][i];
    int row = warp.rowTile(r) * 16 + warp.lane / 4 + (i / 2) * 8;
    int token = warp.token(c) + warp.lane % 4 * 2 + i % 2;
    sums[token * stride + row] = sum * kDecodedUnit * book.unit;
  });
  __syncthreads();
  for (int i = int(threadIdx.x); i < kTileTokens * columns; i += kThreads) {
    int place = i / columns;
    int row = kPaired ? i % columns / 8 * 16 + i % 8 : i % columns;
    i64 weightRow = tile.firstTile * 16 + row, column = resultColumn(weightRow);
    if (place >= tile.tokens.count || column >= kColumns)
      continue;
    i64 token = tile.tokens.result(place);
    const float *from = sums + place * stride + row;
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

} // namespace

__device__ void run(const Launch &launch) {
  ptx::letNextKernelStart();
  // Kernels before this one say which rows are whose.
  if constexpr (kByExpert)
    ptx::waitForEarlierKernels();
  TileIndex index = tileIndex();
  Tile tile = {i64(index.rows) * kRowTiles, tokensOf<kTileTokens>(launch, index.tokens)};
  if (kByExpert && tile.tokens.count <= 0)
    return;
  i64 share = kShares ? blockIdx.z : 0, shares = kShares ? gridDim.z : 1;
  i64 first = kSegments * share / shares, last = kSegments * (share + 1) / shares;
  Work work = {launch,
               tile,
               {},
               ptx::sharedAddress(shared),
               int(first * kSegment),
               int(least(last * kSegment, kDepth)),
               nullptr,
               Book(kLooksUp ? launch.buffers[kZeros] : nullptr),
               {},
               {},
               {},
               {}};
  if constexpr (kShares && !kInteger)
    work.aside = work.place(first);
  if (work.book.hasRest)
    work.run<kLooksUp>();
  else
    work.run<false>();
  if (!kShares || gridDim.z == 1 || work.addShares())
    work.store();
}
