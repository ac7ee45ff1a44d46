// SPDX-License-Identifier: Apache-2.0
// The classes of the engine dialect's operations. What needs attributes alone includes
// EngineDialect.h.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot::engine {

/// Of operations that programs consist of.
template <class Op> class Instruction : public mlir::OpTrait::TraitBase<Op, Instruction> {};

} // namespace ingot::engine

#define GET_OP_CLASSES
#include "dialects/engine/EngineOps.h.inc"

namespace ingot::engine {

/// The shapes that `module` declares, by its dims.
llvm::SmallVector<RangeAttr> declaredRanges(mlir::ModuleOp module);

} // namespace ingot::engine
