// SPDX-License-Identifier: Apache-2.0
// Kernel variants of llm.matmul.
#pragma once

#include "codegen/x86/X86Features.h"
#include "dialects/engine/KernelProvider.h"

namespace ingot::llm {
class MatmulOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// The layout of operand `operand` of `op`: panels for the weight and its scales and zero points by
/// row, row-major for all else.
engine::LayoutAttr matmulLayout(llm::MatmulOp op, unsigned operand);

/// Why there is no kernel for `op`; nothing if there is one.
std::optional<std::string> matmulDeclined(llm::MatmulOp op);

/// The order of the sums of all kernels for `op`, which matmulDeclined accepts.
engine::SumsAttr matmulSums(llm::MatmulOp op, const X86Features &has);

/// Kernels for `op`, which matmulDeclined accepts: one for single rows, two for blocks of rows.
void matmulKernels(llm::MatmulOp op, llvm::ArrayRef<engine::RangeAttr> declared,
                   const X86Features &has, llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

/// What tuning may choose from instead.
void matmulCandidates(llm::MatmulOp op, const X86Features &has,
                      llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

} // namespace ingot::codegen
