// SPDX-License-Identifier: Apache-2.0
// One function per model family; Importer.cpp lists them.
#pragma once

#include "compiler/importers/StepBuilder.h"

namespace ingot::compiler {

mlir::LogicalResult importLlama(mlir::ModuleOp module, const checkpoint::Checkpoint &checkpoint,
                                const ImportOptions &options);

} // namespace ingot::compiler
