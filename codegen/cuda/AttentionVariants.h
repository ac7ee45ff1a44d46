// SPDX-License-Identifier: Apache-2.0
// What the variants of llm.attention on tensor cores share.
#pragma once

#include "codegen/cuda/CudaVariant.h"
#include "codegen/cuda/RowKernels.h"

namespace ingot::llm {
class AttentionOp;
} // namespace ingot::llm

namespace ingot::codegen {

inline constexpr int64_t kAttentionRows = 16; ///< of a product
/// Shared memory that the driver takes for a block.
inline constexpr int64_t kReservedShared = 1024;
/// Up to this many tokens each has blocks of its own, which share its segments.
inline constexpr int64_t kDecodeTokens = 64;
/// Memory that parts of segments may take where more tokens could do without.
inline constexpr int64_t kMostParts = int64_t{256} << 20;

/// The constants that all attention templates share.
void describeAttention(CudaVariant &variant, llm::AttentionOp op, int64_t segment);

/// Segments of a sequence, of a block table of `width` blocks.
std::string segmentsOf(llm::KvType cache, const std::string &width, int64_t segment);
/// At most.
int64_t mostSegments(llm::KvType cache, int64_t width, int64_t segment);

/// Blocks that share the segments of a token's KV head, so that all blocks fit whole waves of
/// `places`: one wave where `works`, of which each has a block at least, are no more than places;
/// some waves beyond, whose last one is less empty for it.
std::string decodeSplit(const std::string &places, const std::string &works);

/// Why tensor cores cannot take `op`, whose cache is latent; null if they can.
const char *latentDeclined(llm::AttentionOp op, const CudaArchitecture &architecture);

/// The order of their sums.
engine::SumsAttr latentSums(llm::AttentionOp op);

/// Adds their kernels, which together cover `declared`.
void addLatentKernels(llm::AttentionOp op, const CudaArchitecture &architecture,
                      llvm::ArrayRef<engine::RangeAttr> declared, Kernels &kernels);

} // namespace ingot::codegen
