// SPDX-License-Identifier: Apache-2.0
// A transformer decoder: normed residual layers of grouped-query attention with rotary positions,
// and of gated feed-forward parts or experts.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/importers/ImportOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot::compiler {

/// Adds the program @step of `checkpoint`'s model to `module`. Errors as importModel.
mlir::LogicalResult importDecoder(mlir::ModuleOp module, const checkpoint::Checkpoint &checkpoint,
                                  const ImportOptions &options);

} // namespace ingot::compiler
