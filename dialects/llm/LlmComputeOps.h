// SPDX-License-Identifier: Apache-2.0
// The classes of the operations on activations, products aside.
#pragma once

#include "dialects/llm/EncodedWeight.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot::llm {
class MatmulOp; // a parent of llm.yield
} // namespace ingot::llm

#define GET_OP_CLASSES
#include "dialects/llm/LlmComputeOps.h.inc"
