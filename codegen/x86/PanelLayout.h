// SPDX-License-Identifier: Apache-2.0
// Memory orders of the weights of llm.matmul: panels of 16 rows, so that a vector loads one column.
#pragma once

#include "codegen/WeightLayout.h"

namespace ingot::codegen {

/// Columns that a row of a panel holds side by side (x86::columnsTogether).
int64_t panelInner(mlir::Type weightElement, mlir::Type inputElement);

/// [rows / 16][columns / inner][16][inner], zero-padded. Eight lie as two groups of
/// 4 columns, one in the low and one in the high halves of 4 bytes: [4][2].
engine::LayoutAttr panelLayout(mlir::RankedTensorType type, int64_t inner);

} // namespace ingot::codegen
