// SPDX-License-Identifier: Apache-2.0
// Putting weights on top of each other.
#pragma once

#include "dialects/llm/LlmDialect.h"
#include "mlir/IR/Builders.h"

namespace ingot {

/// The rows of `parts`, stacked; null when the parts are.
mlir::Value stackRows(mlir::OpBuilder &builder, mlir::Location location,
                      llvm::ArrayRef<mlir::Value> parts);

/// Whether two code books are known to have the same numbers.
bool isSameBook(mlir::Value first, mlir::Value second);

} // namespace ingot
