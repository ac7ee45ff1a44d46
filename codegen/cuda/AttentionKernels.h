// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of llm.attention.
#pragma once

#include "codegen/cuda/RowKernels.h"

namespace ingot::codegen {

/// Adds the kernels of `op`, which together cover `declared`.
Declined addAttentionKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                             llvm::ArrayRef<engine::RangeAttr> declared, Kernels &kernels);

} // namespace ingot::codegen
