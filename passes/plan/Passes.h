// SPDX-License-Identifier: Apache-2.0
// The planning passes; see Passes.td.
#pragma once

#include "dialects/llm/LlmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace ingot {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"
} // namespace ingot
