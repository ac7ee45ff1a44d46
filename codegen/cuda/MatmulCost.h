// SPDX-License-Identifier: Apache-2.0
// How long a product is expected to take: what chooses between kernels, never what is right.
#pragma once

#include "codegen/cuda/CudaArchitecture.h"

namespace ingot::codegen {

/// One launch of a matmul kernel.
struct MatmulWork {
  int64_t rows, k, tokens;      ///< of the product
  int64_t weightBits;           ///< of an element
  ProductType type;             ///< of the instructions
  int64_t tileRows, tileTokens; ///< of a block
  int64_t shares, segments;     ///< blocks that share k, and what they share
  /// Tiles of tokens that go over the weight together; 0: all.
  int64_t tokenGroup;
};

/// Seconds on `part`: the roofline of tensor cores and memory, whole waves of blocks, adding what
/// shares have put aside, and the launch.
double matmulSeconds(const CudaPart &part, const MatmulWork &work);

/// Seconds of a launch that moves `bytes` while it computes for `computing` seconds.
double streamSeconds(const CudaPart &part, double bytes, double computing);

} // namespace ingot::codegen
