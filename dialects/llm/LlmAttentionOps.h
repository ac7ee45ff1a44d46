// SPDX-License-Identifier: Apache-2.0
// The classes of rotary embedding, the KV cache, attention and sampling.
#pragma once

#include "dialects/llm/EncodedWeight.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot::llm {

/// Axes of positions that a rotation may have, and frequencies that may choose among them.
constexpr int64_t kMostAxes = 4, kMostAxisFrequencies = 128;

} // namespace ingot::llm

#define GET_OP_CLASSES
#include "dialects/llm/LlmAttentionOps.h.inc"
