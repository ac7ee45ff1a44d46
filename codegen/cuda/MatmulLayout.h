// SPDX-License-Identifier: Apache-2.0
// Memory orders of the weights of llm.matmul on CUDA targets.
#pragma once

#include "codegen/WeightLayout.h"
#include "codegen/cuda/CudaVariant.h"
#include "dialects/engine/EngineDialect.h"
#include "dialects/llm/LlmDialect.h"

namespace ingot::codegen {

/// Rows of the weight between the two members of a pair: a lane of a tensor-core product holds
/// rows g and g + 8.
inline constexpr int64_t kCudaPairOffset = 8;

/// How tensor-core kernels store a weight: by what one lane needs of 16 rows.
enum class FragmentLayout {
  Halves,      ///< 16-bit elements: 16 columns in 16 bytes
  Bytes,       ///< 8-bit elements that meet 16-bit inputs: 32 columns
  Quads,       ///< 8-bit elements that meet 8-bit inputs: 32 columns, four side by side
  Nibbles,     ///< int4 that meets 16-bit inputs: 64 columns
  NibblePairs, ///< places in a codebook, likewise: columns 2t and 2t + 1 side by side
  NibbleQuads, ///< int4 that meets i8 inputs: 64 columns
  Planes,      ///< elements in planes that meet 16-bit inputs: 64 columns
  PlaneQuads,  ///< the same that meet i8 inputs
};

/// The packed order of `type` in `layout`: tiles of 16 rows, zero-padded; in each, blocks of
/// columns: 16 bytes for each lane of a warp, or 32 elements of planes.
engine::LayoutAttr fragmentLayout(mlir::RankedTensorType type, FragmentLayout layout);

/// The packed order of scales or zero points [rows, groups] beside it: in tiles of 16 rows, group
/// by group, rows g and g + 8 side by side.
engine::LayoutAttr fragmentScales(mlir::RankedTensorType type);

/// Groups whose codes lie together in fragmentCodes.
inline constexpr int64_t kCodeGroups = 8;

/// The packed order of scales or offsets stored as codes [rows, groups]: in tiles of 16 rows, in
/// records of kCodeGroups groups; in each row by row of the first eight, group by group, rows g and
/// g + 8 side by side.
engine::LayoutAttr fragmentCodes(mlir::RankedTensorType type);

/// The packed order of super-block scales [rows, blocks * parts] beside them: in tiles of 16 rows,
/// block by block, rows g and g + 8 side by side, parts of a row together.
engine::LayoutAttr fragmentSuperScales(mlir::RankedTensorType type, int64_t parts);

/// Adds the digits of kernels/EncodedWeight.cuh for the tensors of `weight`; false if one has too
/// many.
bool addLayouts(CudaVariant &variant, const llm::EncodedWeight &weight);

} // namespace ingot::codegen
