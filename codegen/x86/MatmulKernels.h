// SPDX-License-Identifier: Apache-2.0
// Kernel variants of llm.matmul.
#pragma once

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

/// The compiled template, and what its target has.
struct MatmulTemplate {
  llvm::StringRef digest; ///< of the process's lifetime
  bool amx;               ///< the tiles of AMX, or their twin
  bool bf16;              ///< dot products of bf16
  bool vnni;              ///< dot products of bytes
};

/// The order of the sums of all kernels for `op`, which matmulDeclined accepts.
engine::SumsAttr matmulSums(llm::MatmulOp op, const MatmulTemplate &made);

/// Kernels for `op`, which matmulDeclined accepts: one for single rows, two for blocks of rows.
void matmulKernels(llm::MatmulOp op, llvm::ArrayRef<engine::RangeAttr> declared,
                   const MatmulTemplate &made,
                   llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

/// What tuning may choose from instead.
void matmulCandidates(llm::MatmulOp op, const MatmulTemplate &made,
                      llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

} // namespace ingot::codegen
