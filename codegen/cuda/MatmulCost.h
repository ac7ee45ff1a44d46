// SPDX-License-Identifier: Apache-2.0
// How long a product is expected to take: what chooses between kernels, never what is right.
#pragma once

#include "codegen/cuda/CudaArchitecture.h"

namespace ingot::codegen {

/// One launch of a matmul kernel.
struct MatmulWork {
  int64_t rows, k, tokens;      ///< of the product
  int64_t weightBits;           ///< of an element
  int64_t tileRows, tileTokens; ///< of a block
  int64_t shares;               ///< blocks that may share k
};

/// Seconds on the architecture's typical part: the roofline of tensor cores and memory, whole waves
/// of blocks, and the launch.
double matmulSeconds(const CudaArchitecture &architecture, const MatmulWork &work);

/// Seconds of a launch that moves `bytes` while it computes for `computing` seconds.
double streamSeconds(const CudaArchitecture &architecture, double bytes, double computing);

} // namespace ingot::codegen
