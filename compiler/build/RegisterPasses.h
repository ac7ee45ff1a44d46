// SPDX-License-Identifier: Apache-2.0
// Everything that ingot-opt knows: the dialects and the passes by their flags.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "mlir/IR/DialectRegistry.h"

namespace ingot::compiler {

/// Adds Ingot's dialects and the upstream ones they use to `registry`.
void registerDialects(mlir::DialectRegistry &registry);

/// Gives `dialect` the kernel providers of all targets.
void injectProviders(engine::EngineDialect &dialect);

/// registerDialects, with providers injected when the engine dialect is loaded, and every pass in
/// the process's list of passes. Call it once.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace ingot::compiler
