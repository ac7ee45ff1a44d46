// SPDX-License-Identifier: Apache-2.0
// Verifiers of the engine dialect.
#include "dialects/engine/EngineDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot::engine;

#define GET_OP_CLASSES
#include "dialects/engine/EngineOps.cpp.inc"

/// Fails unless `value` is one of `allowed`, listing them.
static LogicalResult verifyWord(Operation *op, StringRef attribute, StringRef value,
                                ArrayRef<StringRef> allowed) {
  if (llvm::is_contained(allowed, value))
    return success();
  return op->emitOpError() << attribute << " '" << value << "' is none of "
                           << llvm::join(allowed, ", ");
}

LogicalResult DimOp::verify() {
  if (getMin() > getMax())
    return emitOpError() << "range is empty";
  return verifyWord(*this, "source", getSource(), {"step", "load", "device"});
}

LogicalResult WeightOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || elementBits(type.getElementType()) == 0)
    return emitOpError() << "type must be a static tensor of integers or floats";
  return success();
}

int64_t WeightOp::byteSize() { return storedBytes(cast<RankedTensorType>(getType())); }

LogicalResult KvGroupOp::verify() {
  if (getBlockTokens() < 1)
    return emitOpError() << "needs at least one position per block";
  if ((getKind() == "sliding") != (getWindow() > 0))
    return emitOpError() << "a window goes with kind 'sliding' and only with it";
  return verifyWord(*this, "kind", getKind(), {"global", "sliding", "latent"});
}

LogicalResult BufferOp::verify() {
  if ((getRole() == "weight") != getWeight().has_value())
    return emitOpError() << "a weight goes with role 'weight' and only with it";
  if ((getRole() == "kv") != getGroup().has_value())
    return emitOpError() << "a group goes with role 'kv' and only with it";
  if (elementBits(getElement()) == 0)
    return emitOpError() << "element type " << getElement() << " has no storage";
  return verifyWord(*this, "role", getRole(),
                    {"input", "output", "weight", "arena", "kv", "state", "slot"});
}

LogicalResult LibraryOp::verify() {
  return verifyWord(*this, "kind", getKind(), {"host_shared_object", "cubin", "ptx"});
}

LogicalResult LaunchOp::verify() {
  if (getVariants().empty())
    return emitOpError() << "has no variant";
  for (Attribute variant : getVariants())
    if (!isa<VariantAttr>(variant))
      return emitOpError() << "variants must be #engine.variant attributes";
  for (Attribute arg : getArgs())
    if (!isa<FlatSymbolRefAttr, BufferArgAttr, ExprAttr, FloatAttr>(arg))
      return emitOpError() << "argument " << arg << " is neither a buffer, an expression nor a float";
  return success();
}

LogicalResult CollectiveOp::verify() {
  return verifyWord(*this, "kind", getKind(),
                    {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send",
                     "receive"});
}
