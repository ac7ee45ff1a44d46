// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of the operations that work row by row: everything but products and attention.
#pragma once

#include "codegen/cuda/CudaArchitecture.h"
#include "dialects/engine/KernelProvider.h"
#include "dialects/llm/LlmDialect.h"

namespace ingot::codegen {

using Kernels = llvm::SmallVectorImpl<engine::KernelVariant>;
/// Why there is no kernel; nothing where one was added.
using Declined = std::optional<std::string>;

/// Why there is no kernel where groups of a row of integers have scales of their own.
inline constexpr const char *kInputGroups = "rows of integers have one scale each";

/// Adds the kernels of an llm.embed, norm, pointwise, round, quantize_activation,
/// slice_columns, gather_rows, rope, rope_append, kv_append or sample; of others it says so.
/// Weights of llm.embed may be in row-major order or in a layout of MatmulLayout.h.
/// The order of the sums of such an operation; null for those that add nothing.
engine::SumsAttr rowOperationSums(mlir::Operation *op);

Declined addRowKernels(mlir::Operation *op, const CudaArchitecture &architecture,
                       llvm::ArrayRef<engine::RangeAttr> declared, Kernels &kernels);

} // namespace ingot::codegen
