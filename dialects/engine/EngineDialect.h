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

#include "dialects/engine/EngineEnums.h.inc"
#include "dialects/engine/EngineExpr.h"

#define GET_ATTRDEF_CLASSES
#include "dialects/engine/EngineAttributes.h.inc"

#include "dialects/engine/EngineDialect.h.inc" // whose discardable attributes are among those

namespace ingot::engine {

/// A discardable attribute of `op` that a dialect declares; null without:
/// attributeOf<EngineDialect::TargetAttrHelper>(module).
template <class Helper> auto attributeOf(mlir::Operation *op) {
  return Helper(op->getContext()).getAttr(op);
}
/// Sets one.
template <class Helper, class Attribute> void setAttribute(mlir::Operation *op, Attribute value) {
  Helper(op->getContext()).setAttr(op, value);
}
/// Fails unless `attribute` is that of one of a dialect's `helpers`, and of its type.
template <class... Helpers>
mlir::LogicalResult verifyDeclared(mlir::Operation *op, mlir::NamedAttribute attribute,
                                   Helpers... helpers) {
  auto is = [&](auto helper) {
    return attribute.getName() == helper.getName() &&
           mlir::isa<decltype(helper.getAttr(op))>(attribute.getValue());
  };
  if ((is(helpers) || ...))
    return mlir::success();
  return op->emitError() << attribute.getName() << " is no attribute of the dialect, or of a type "
                         << "other than that of " << attribute.getValue();
}

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
