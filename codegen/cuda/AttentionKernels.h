// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of llm.attention and llm.encoder_attention.
#pragma once

#include "codegen/cuda/RowKernels.h"

namespace ingot::llm {
class AttentionOp;
class EncoderAttentionOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// Adds the kernels of `op`, which together cover `declared`.
Declined addAttentionKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                             llvm::ArrayRef<engine::RangeAttr> declared, Kernels &kernels);

Declined addAttentionKernels(llm::EncoderAttentionOp op, Kernels &kernels);

/// The order of the sums of all kernels for `op`.
engine::SumsAttr attentionSums(llm::AttentionOp op, const CudaArchitecture &architecture);
engine::SumsAttr attentionSums(llm::EncoderAttentionOp op);

/// Why `op` cannot have products of e4m3; nothing if it can.
Declined fp8AttentionDeclined(llm::AttentionOp op, const CudaArchitecture &architecture);

} // namespace ingot::codegen
