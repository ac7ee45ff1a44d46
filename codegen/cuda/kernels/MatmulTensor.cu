// SPDX-License-Identifier: Apache-2.0
// llm.matmul on tensor cores (mma.sync), for every architecture: a block is some rows of the weight
// (blockIdx.y) by some tokens (blockIdx.x), and with gridDim.z > 1 a share of the segments of k.
// Sums of segments are formed alone and added in order, whatever the tile, the grid and the number
// of shares: so a token's result does not depend on them.
#define INGOT_WAITS_ITSELF
#include "MatmulSums.cuh"

extern __shared__ __align__(128) u8 shared[];

namespace {

using namespace matmul;

constexpr int kHalves = kInputBytes == 2 ? 2 : 1; ///< loads of inputs in a step
constexpr int kHalfProducts = kStepDepth / kHalves / kProductDepth;

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
/// One block's work on its share of k.
struct Work : Block {
  Sums<Accumulator> open = {}; ///< of the group, or of the segment where there are no groups
  Sums<float> segment = {};    ///< of closed groups
  Sums<float> total = {};      ///< of closed segments, or of groups of integers
  InputSums<kAddsOffsets> inputSums = {};

  using Block::Block;

  /// Where the lane finds its row of chunks `chunk` to `chunk` + 3 of the warp's first eight tokens
  /// in the inputs of a stage; `chunk` less whole eights.
  __device__ u32 inputLane(int chunk) const {
    return inputPlace(warp.token(0) + warp.lane % 8, chunk % 8 + warp.lane / 8);
  }

  /// What the share has come to.
  __device__ auto &result() {
    if constexpr (kInteger && !kGrouped)
      return open;
    else
      return total;
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

  /// Adds the segment that ends, or puts it aside.
  __device__ void closeSegment() {
    if constexpr (kGrouped)
      addSegment(segment);
    else
      addSegment(open);
  }
  template <class Number> __device__ void addSegment(Sums<Number> &sums) {
    if (!putsAside(sums))
      forEachSum([&](int r, int c, int i) { total.of[r][c][i] += float(sums.of[r][c][i]); });
    sums.clear();
  }

  /// Multiplies kStepDepth columns of the stage from `depth` on. `Rest`: with what halves leave of
  /// the code book's numbers.
  template <bool Rest> __device__ void multiplyStep(u32 stageOffset, int depth, int k) {
    u32 words[kRows][kStepWords];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      loadWeights(words[r], memory + stageOffset + warp.rowTile(r) * Weights::kTileBytes +
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
    u32 from = base + stageOffset + inputLane(chunk) + chunk / 8 * 128;
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
  template <bool Rest> __device__ void run();
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
      Decoded::decode(memory, reading, warp.index, warp.rowTile(0), k,
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

} // namespace

__device__ void run(const Launch &launch) { runBlock<Work>(launch, shared); }
