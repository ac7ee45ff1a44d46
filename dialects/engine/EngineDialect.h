// SPDX-License-Identifier: Apache-2.0
// The engine dialect, its attributes and integer expressions. Operations: EngineOps.h.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "runtime/schema/Elements.h"

#include <functional>
#include <memory>
#include <optional>

namespace ingot::engine {
class KernelProvider;
class TargetAttr;
} // namespace ingot::engine

#include "dialects/engine/EngineDialect.h.inc"
#include "dialects/engine/EngineEnums.h.inc"
#include "dialects/engine/EngineExpr.h"

#define GET_ATTRDEF_CLASSES
#include "dialects/engine/EngineAttributes.h.inc"

namespace ingot::engine {

/// The element type that MLIR calls `element`; nothing for types an engine cannot hold.
std::optional<ElementType> findElementType(mlir::Type element);
/// The same of a type that one can.
inline ElementType elementTypeOf(mlir::Type element) { return *findElementType(element); }
mlir::Type typeFor(mlir::MLIRContext *context, ElementType element);

/// Bits of one element of a weight or buffer; 0 for types an engine cannot hold.
int64_t elementBits(mlir::Type element);

/// Bytes that `type` occupies, its layout's padding included; sub-byte elements fill bytes.
int64_t storedBytes(mlir::RankedTensorType type);

/// `text`, in its canonical spelling, as an attribute; asserts that it parses.
ExprAttr getExpr(mlir::MLIRContext *context, llvm::StringRef text);

} // namespace ingot::engine
