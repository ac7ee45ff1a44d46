// SPDX-License-Identifier: Apache-2.0
// Kernel variants of llm.matmul.
#pragma once

#include "codegen/native/KernelLibrary.h"
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

/// What kernels of a target are made of: compiled templates, and instructions that they may use.
struct X86Features {
  const TemplateSet &templates;
  bool amx;  ///< the tiles of AMX, or their twin
  bool bf16; ///< dot products of bf16
  bool vnni; ///< dot products of bytes
};

/// The order of the sums of all kernels for `op`, which matmulDeclined accepts.
engine::SumsAttr matmulSums(llm::MatmulOp op, const X86Features &has);

/// Kernels for `op`, which matmulDeclined accepts: one for single rows, two for blocks of rows.
void matmulKernels(llm::MatmulOp op, llvm::ArrayRef<engine::RangeAttr> declared,
                   const X86Features &has, llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

/// What tuning may choose from instead.
void matmulCandidates(llm::MatmulOp op, const X86Features &has,
                      llvm::SmallVectorImpl<engine::KernelVariant> &kernels);

} // namespace ingot::codegen
