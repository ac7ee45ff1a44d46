// SPDX-License-Identifier: Apache-2.0
// What a kernel has to do for its operation, for tools that measure it.
#pragma once

#include "dialects/engine/EngineDialect.h"

namespace ingot {

/// The work of `op` as facts of its kernels (docs/engine-format.md): "product" is productOf,
/// "row_dim" names the dim that counts rows, "operations_per_row" those of one row,
/// "operations_per_position" those of one row and one position of the KV cache that it sees,
/// "weight_bytes_per_row" what a row reads of weights where that is not all of them. Empty for
/// operations that only move or map elements.
llvm::SmallVector<mlir::NamedAttribute> workFacts(mlir::Operation *op);

/// Which product `op` is: operation, N, K and the types of input and weight, as in
/// "matmul 4096 14336 bf16*i4.64" (a scale for each 64 columns; "row" and "tensor": for the whole
/// row or weight; "z": with zero points). Empty for other operations.
std::string productOf(mlir::Operation *op);

} // namespace ingot
