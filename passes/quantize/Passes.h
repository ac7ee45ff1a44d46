// SPDX-License-Identifier: Apache-2.0
// The quantization passes; see Passes.td.
#pragma once

#include "dialects/llm/LlmDialect.h"
#include "mlir/Pass/Pass.h"

namespace ingot {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/quantize/Passes.h.inc"
} // namespace ingot
