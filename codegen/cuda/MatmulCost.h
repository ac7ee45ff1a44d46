// SPDX-License-Identifier: Apache-2.0
// How long a product is expected to take: what chooses between kernels, never what is right.
#pragma once

#include "codegen/cuda/CudaArchitecture.h"

namespace ingot::codegen {

/// The largest error of the model against the timings of tests/bench/published/published.json, as a
/// share of them: what every prediction carries.
inline constexpr double kPredictedError = 0.3;

/// One launch of a matmul kernel.
struct MatmulWork {
  int64_t rows, k, tokens; ///< of the product
  /// Of an element, with what goes beside weights by group. Results have 16.
  double weightBits, inputBits;
  ProductType type;
  MmaFamily family;
  int64_t tileRows, tileTokens; ///< of a block
  int64_t depth, stages;        ///< columns of k in a stage, and stages
  /// Warps of a block that multiply, and blocks that share a multiprocessor.
  int64_t warps = 1, residents = 1;
  /// Blocks that share k, and the segments that they share.
  int64_t shares = 1, segments = 1;
  bool clustered = false; ///< whether these blocks are a cluster
  /// Tiles of tokens that go over the weight together; 0: all.
  int64_t tokenGroup = 0;
  /// What the warps of a block issue for a stage, and read of shared memory by other instructions
  /// than wgmma.
  double instructions = 0, sharedBytes = 0;
  /// Whether a block takes one tile after the other and loads ahead of the next, and whether other
  /// warps of it multiply while some store a tile.
  bool persistent = false, overlapsEnds = false;
  /// Whether tiles and shares of k are cut so that all multiprocessors have equal work (stream-K).
  bool streams = false;
  /// Blocks that receive a copy of inputs at once.
  int64_t multicast = 1;
};

/// Seconds on `part`: the largest of what tensor cores, issue, shared memory and memory take, in
/// whole waves of blocks, and a share of the others; filling the pipeline and storing tiles; adding
/// what shares have put aside; the launch.
double matmulSeconds(const CudaPart &part, const MatmulWork &work);

/// What decides these seconds: "memory", "cache" (L2), "multiply" (tensor cores), "issue" or
/// "shared" (memory).
llvm::StringLiteral matmulBound(const CudaPart &part, const MatmulWork &work);

/// Seconds of a launch that moves `bytes` while it computes for `computing` seconds.
double streamSeconds(const CudaPart &part, double bytes, double computing);

/// One warp's part of a kernel that loads operands from shared memory and multiplies them.
struct WarpTile {
  int64_t rowTiles, tokenBlocks; ///< of 16 rows and of 8 tokens
  double weightBits, inputBits;  ///< of an element in shared memory
  int64_t depth;                 ///< columns of k in a stage
  ProductType type;
  MmaFamily family;
};

/// Bytes that the warp's own instructions read of shared memory for a stage: none where wgmma does.
double sharedBytesOf(const WarpTile &warp);

/// Instructions that the warp issues for a stage, as long as the kernel is not compiled: afterwards
/// its binary is counted.
double instructionsOf(const WarpTile &warp);

} // namespace ingot::codegen
