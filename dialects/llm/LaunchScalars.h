// SPDX-License-Identifier: Apache-2.0
// The numbers that kernels of an operation are handed beside its buffers.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>

namespace ingot::llm {

/// The dims whose values every launch of `op` has as its scalars, in this order: where `op` reads a
/// block table, the table's width; then those that count rows of its operands and results, each
/// once, as they come.
llvm::SmallVector<std::string, 4> launchScalars(mlir::Operation *op);

} // namespace ingot::llm
