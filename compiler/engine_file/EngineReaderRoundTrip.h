// SPDX-License-Identifier: Apache-2.0
// A pass that writes a module as engine metadata and reads it back, for tests.
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot::compiler {

/// `--ingot-engine-round-trip`: replaces the module by what EngineReader makes of what EngineWriter
/// wrote. Weights and libraries get sections of their sizes without contents.
std::unique_ptr<mlir::Pass> createEngineRoundTripPass();

} // namespace ingot::compiler
