// SPDX-License-Identifier: Apache-2.0
// Several products of one input as one product of stacked weights; used by the merge passes.
#pragma once

#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

namespace ingot::llm {
class MatmulOp;
} // namespace ingot::llm

namespace ingot {

/// Merges `products` (in column order; all of one input) at the place of the first in their block,
/// and replaces each by a slice of the merged product's columns. Encoded weights are stacked as
/// they are. Asks the target and notes the outcome at `site`.
void mergeProducts(FusionReport &report, llvm::ArrayRef<llm::MatmulOp> products,
                   const llvm::Twine &site);

} // namespace ingot
