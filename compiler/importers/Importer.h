// SPDX-License-Identifier: Apache-2.0
// From a checkpoint to llm IR.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/importers/ImportOptions.h"
#include "dialects/llm/LlmDialect.h"
#include "mlir/IR/OwningOpRef.h"

namespace ingot::compiler {

/// The programs @step and @sample of `checkpoint`'s model, in f32 with weights as stored. Weight
/// data is not read, but for code books and scales of one number. Errors come as diagnostics with
/// code INGOT-E10nn.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext *context, const checkpoint::Checkpoint &checkpoint,
            const ImportOptions &options);

/// The tensors that importModel reads of a checkpoint without weights. Errors as importModel.
mlir::FailureOr<std::vector<checkpoint::Tensor>>
tensorsOfFamily(mlir::MLIRContext *context, const checkpoint::Checkpoint &checkpoint);

} // namespace ingot::compiler
