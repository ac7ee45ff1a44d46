// SPDX-License-Identifier: Apache-2.0
// Putting weights on top of each other.
#pragma once

#include "dialects/llm/EncodedWeight.h"
#include "mlir/IR/Builders.h"

namespace ingot {

/// The rows of `parts`, stacked.
mlir::Value stackRows(mlir::OpBuilder &builder, mlir::Location location,
                      llvm::ArrayRef<mlir::Value> parts);

/// The same of encoded weights, tensor by tensor. They must fit each other.
llm::EncodedWeight stackRows(mlir::OpBuilder &builder, mlir::Location location,
                             llvm::ArrayRef<llm::EncodedWeight> weights);

/// Whether two tables are known to have the same numbers.
bool isSameTable(mlir::Value first, mlir::Value second);

/// Why weights that are encoded alike cannot be stacked as they are; empty if they can. Neither
/// their rows nor whether each has one scale matter.
llvm::StringRef stackObstacle(const llm::EncodedWeight &first, const llm::EncodedWeight &other);

} // namespace ingot
