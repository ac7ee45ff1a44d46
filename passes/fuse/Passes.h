// SPDX-License-Identifier: Apache-2.0
// The fusion passes; see Passes.td.
#pragma once

#include "dialects/llm/LlmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

namespace ingot {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/fuse/Passes.h.inc"
} // namespace ingot
