// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of llm.matmul.
#pragma once

#include "codegen/cuda/RowKernels.h"

namespace ingot::llm {
class MatmulOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// Operands that an epilogue may have besides the sums.
inline constexpr size_t kEpilogueOperands = 4;

/// The layout in which `op` wants operand `operand`, a weight.
engine::LayoutAttr cudaMatmulLayout(llm::MatmulOp op, unsigned operand);

/// The orders of sums for which there are kernels of `op`, best first.
llvm::SmallVector<engine::SumsAttr> cudaMatmulSums(llm::MatmulOp op,
                                                   const CudaArchitecture &architecture);

/// Adds the kernels of `op`, which together cover `declared`.
Declined addMatmulKernels(llm::MatmulOp op, const CudaArchitecture &architecture,
                          llvm::ArrayRef<engine::RangeAttr> declared, Kernels &kernels);

/// Adds the kernels that tuning may choose from.
void addMatmulCandidates(llm::MatmulOp op, const CudaArchitecture &architecture,
                         llvm::ArrayRef<engine::RangeAttr> declared, Kernels &kernels);

} // namespace ingot::codegen
