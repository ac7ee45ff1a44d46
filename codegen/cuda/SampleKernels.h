// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of llm.sample.
#pragma once

#include "codegen/cuda/RowKernels.h"

namespace ingot::codegen {

/// Adds the kernels of `op`.
Declined addSampleKernels(llm::SampleOp op, const CudaArchitecture &architecture, Kernels &kernels);

} // namespace ingot::codegen
