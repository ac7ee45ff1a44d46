// SPDX-License-Identifier: Apache-2.0
// Reads the metadata of an engine file back into the engine dialect: the inverse of EngineWriter.
#pragma once

#include "compiler/engine_file/EngineDescription.h"
#include "dialects/engine/EngineDialect.h"
#include "mlir/IR/OwningOpRef.h"

#include <filesystem>
#include <vector>

namespace ingot::compiler {

/// The module that `metadata` was written from: dims, weights, then each unit with rank groups, KV
/// groups, buffers, libraries, kernels, arena tiers, programs, coverage and notes, in this order.
/// The result is verified. Trusts nothing; null with a diagnostic INGOT-E5801 on a bad file.
/// `context` must have the engine, arith and math dialects loaded or registered.
mlir::OwningOpRef<mlir::ModuleOp> readEngineMetadata(mlir::MLIRContext &context,
                                                     llvm::ArrayRef<std::byte> metadata);

/// What `metadata` states beside its programs. Error: INGOT-E5801 for bytes that are no metadata.
checkpoint::Expected<EngineDescription> readDescription(llvm::ArrayRef<std::byte> metadata);

/// The metadata bytes of the engine file `path`, with its digest compared.
/// Errors: those of checkpoint::File, INGOT-E5802 (no engine file, or a damaged one).
checkpoint::Expected<std::vector<std::byte>> readMetadataBytes(const std::filesystem::path &path);

} // namespace ingot::compiler
