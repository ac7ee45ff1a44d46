// SPDX-License-Identifier: Apache-2.0
// The classes of rotary embedding, the KV cache, attention and sampling.
#pragma once

#include "dialects/llm/EncodedWeight.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/llm/LlmAttentionOps.h.inc"
