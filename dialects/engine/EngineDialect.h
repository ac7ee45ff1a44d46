// SPDX-License-Identifier: Apache-2.0
// The engine dialect, its attributes and integer expressions. Operations: EngineOps.h.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include <functional>
#include <memory>

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

/// Bits of one element of a weight or buffer; 0 for types an engine cannot hold.
int64_t elementBits(mlir::Type element);

/// Elements of 2, 3, 5 and 6 bits lie in blocks of so many places, the last one padded. In each,
/// first the four low bits of all elements (two of 2 and 3 bits), then the bits above these: an
/// element's part of a plane stands at its place in the block, in the order of bits from the lowest
/// of the first byte on.
inline constexpr int64_t kPlanePlaces = 128;
inline bool hasPlanes(int64_t bits) { return bits < 8 && bits != 4; }

/// Bytes of `places` elements of `bits` in memory.
int64_t bytesOfPlaces(int64_t places, int64_t bits);

/// Bytes that `type` occupies, its layout's padding included; sub-byte elements fill bytes.
int64_t storedBytes(mlir::RankedTensorType type);

/// `text`, in its canonical spelling, as an attribute; asserts that it parses.
ExprAttr getExpr(mlir::MLIRContext *context, llvm::StringRef text);

} // namespace ingot::engine
