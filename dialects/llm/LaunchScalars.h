// SPDX-License-Identifier: Apache-2.0
// The numbers that kernels of an operation are handed beside its buffers.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>

namespace ingot::llm {

struct KvGroup;

/// The dim that is the width of the block table of `group` in the module around `op`: the group's
/// own, where it is declared, since its blocks have as many tokens as no other's; or the first's.
std::string tableWidthOf(const KvGroup &group, mlir::Operation *op);

/// The dims whose values every launch of `op` has as its scalars, in this order: where `op` reads a
/// block table, the table's width; then those that count rows of its operands and results, each
/// once, as they come.
llvm::SmallVector<std::string, 4> launchScalars(mlir::Operation *op);

} // namespace ingot::llm
