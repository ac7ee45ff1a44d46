// SPDX-License-Identifier: Apache-2.0
// Kernel variants of the operations whose template all native targets share.
#pragma once

#include "dialects/engine/KernelProvider.h"

namespace ingot::llm {
class CausalConvOp;
class CombineOp;
class GatherColumnsOp;
class GatherRowsOp;
class GroupRowsOp;
class PlaceRowsOp;
class RouteOp;
class SampleOp;
class SelectPositionsOp;
class SliceColumnsOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// kernels/Sample.cpp: a tile per logit row.
engine::KernelVariant sampleKernel(llm::SampleOp op);

/// kernels/CopyRows.cpp: a tile per row of the result. Operations that also change the element type
/// are not for it.
engine::KernelVariant gatherRowsKernel(llm::GatherRowsOp op);
engine::KernelVariant sliceColumnsKernel(llm::SliceColumnsOp op);

/// kernels/GatherColumns.cpp: a tile per row; likewise.
engine::KernelVariant gatherColumnsKernel(llm::GatherColumnsOp op);

/// kernels/PlaceRows.cpp: a tile per row.
engine::KernelVariant placeRowsKernel(llm::PlaceRowsOp op);

/// kernels/Route.cpp and kernels/Combine.cpp: a tile per token.
engine::KernelVariant routeKernel(llm::RouteOp op);
engine::KernelVariant combineKernel(llm::CombineOp op);

/// kernels/GroupRows.cpp: a tile per expert. Nothing where the rows are no multiple of T, S or L.
std::optional<engine::KernelVariant> groupRowsKernel(llm::GroupRowsOp op);

/// kernels/SelectPositions.cpp: a tile per token.
engine::KernelVariant selectPositionsKernel(llm::SelectPositionsOp op);

/// CausalConv.cpp of the target: a tile per sequence and 64 columns.
engine::KernelVariant causalConvKernel(llm::CausalConvOp op);

} // namespace ingot::codegen
