// SPDX-License-Identifier: Apache-2.0
// Verifiers of the engine dialect.
#include "dialects/engine/EngineOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot::engine;

#define GET_OP_CLASSES
#include "dialects/engine/EngineOps.cpp.inc"

void EngineDialect::addOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/engine/EngineOps.cpp.inc"
      >();
}

llvm::SmallVector<RangeAttr> ingot::engine::declaredRanges(ModuleOp module) {
  llvm::SmallVector<RangeAttr> ranges;
  for (auto dim : module.getOps<DimOp>())
    ranges.push_back(
        RangeAttr::get(module.getContext(), dim.getSymName(), dim.getMin(), dim.getMax()));
  return ranges;
}

/// Fails unless `value` is one of `allowed`, listing them.
static LogicalResult verifyWord(Operation *op, StringRef attribute, StringRef value,
                                ArrayRef<StringRef> allowed) {
  if (llvm::is_contained(allowed, value))
    return success();
  return op->emitOpError() << attribute << " '" << value << "' is none of "
                           << llvm::join(allowed, ", ");
}

LogicalResult DimOp::verify() {
  if (static_cast<int64_t>(getMin()) > static_cast<int64_t>(getMax()))
    return emitOpError() << "range is empty";
  return verifyWord(*this, "source", getSource(), {"step", "load", "device"});
}

LogicalResult WeightOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || elementBits(type.getElementType()) == 0)
    return emitOpError() << "type must be a static tensor of storable integers or floats";
  if (type.getEncoding() && !isa<LayoutAttr>(type.getEncoding()))
    return emitOpError() << "the type's encoding must be a layout";
  return success();
}

int64_t WeightOp::byteSize() { return storedBytes(cast<RankedTensorType>(getType())); }

LogicalResult UnitOp::verify() {
  auto rank = static_cast<int64_t>(getRank()), ranks = static_cast<int64_t>(getRanks());
  if (rank < 0 || rank >= ranks)
    return emitOpError() << "rank " << rank << " is none of " << ranks;
  return success();
}

LogicalResult KvGroupOp::verify() {
  if (static_cast<int64_t>(getBlockTokens()) < 1)
    return emitOpError() << "needs at least one position per block";
  if ((getKind() == "sliding") != (static_cast<int64_t>(getWindow()) > 0))
    return emitOpError() << "a window goes with kind 'sliding' and only with it";
  return verifyWord(*this, "kind", getKind(), {"global", "sliding", "latent", "recurrent"});
}

LogicalResult RankGroupOp::verify() {
  ArrayRef<int64_t> ranks = getRanks();
  if (ranks.empty())
    return emitOpError() << "has no ranks";
  auto unit = (*this)->getParentOfType<UnitOp>();
  int64_t count = unit ? unit.getRanks() : INT64_MAX, before = -1;
  for (int64_t rank : ranks) {
    if (rank <= before || rank >= count)
      return emitOpError() << "ranks must ascend and be ranks of the unit";
    before = rank;
  }
  return success();
}

LogicalResult BufferOp::verify() {
  if (failed(verifyWord(*this, "role", getRole(),
                        {"input", "output", "weight", "arena", "kv", "state", "slot"})))
    return failure();
  if ((getRole() == "weight") != getWeight().has_value())
    return emitOpError() << "a weight goes with role 'weight' and only with it";
  if (getRole() == "kv" && !getGroup())
    return emitOpError() << "role 'kv' needs a group";
  if (getGroup() && getRole() != "kv" && getRole() != "input")
    return emitOpError() << "a group goes with roles 'kv' and 'input' only";
  if (elementBits(getElement()) == 0)
    return emitOpError() << "element type " << getElement() << " has no storage";
  if (getZeroed() && getRole() != "arena")
    return emitOpError() << "only role 'arena' can be zeroed";
  bool sized = getRole() == "input" || getRole() == "output" || getRole() == "arena";
  if (!sized && !getBytes().constantValue())
    return emitOpError() << "bytes of role '" << getRole() << "' must be constant";
  return success();
}

LogicalResult LibraryOp::verify() {
  return verifyWord(*this, "kind", getKind(), {"host_shared_object", "cubin", "ptx"});
}

void KernelOp::addFacts(ArrayRef<NamedAttribute> more) {
  NamedAttrList facts(getFactsAttr());
  for (NamedAttribute fact : more)
    facts.set(fact.getName(), fact.getValue());
  if (!facts.empty())
    setFactsAttr(facts.getDictionary(getContext()));
}

/// What every device with clusters can run; more takes a leave that depends on the part.
static constexpr int64_t kMostBlocksOfCluster = 8;

LogicalResult KernelOp::verify() {
  if (DictionaryAttr facts = getFactsAttr())
    for (NamedAttribute fact : facts)
      if (!isa<StringAttr>(fact.getValue()))
        return emitOpError() << "metadata '" << fact.getName().getValue() << "' must be a string";
  for (std::optional<ArrayRef<int64_t>> extents : {getBlock(), getCluster()})
    if (extents && (extents->empty() || extents->size() > 3 || llvm::min_element(*extents)[0] < 1))
      return emitOpError() << "block and cluster have one to three positive extents";
  int64_t blocks = 1;
  for (int64_t extent : getCluster().value_or(ArrayRef<int64_t>()))
    if (llvm::MulOverflow(blocks, extent, blocks) || blocks > kMostBlocksOfCluster)
      return emitOpError() << "a cluster has at most " << kMostBlocksOfCluster
                           << " blocks, which every device can run";
  return success();
}

LogicalResult ArenaTierOp::verify() {
  constexpr int64_t kAlignment = 64;
  auto bytes = static_cast<int64_t>(getBytes());
  for (int64_t offset : getOffsets())
    if (offset < 0 || offset > bytes || offset % kAlignment != 0)
      return emitOpError() << "offset " << offset << " must be a multiple of " << kAlignment
                           << " within " << bytes << " bytes";
  auto unit = (*this)->getParentOfType<UnitOp>();
  if (!unit)
    return success();
  size_t planned = llvm::count_if(unit.getOps<BufferOp>(), [](BufferOp buffer) {
    return llvm::is_contained({"arena", "input", "output"}, buffer.getRole());
  });
  if (planned != getOffsets().size())
    return emitOpError() << "has " << getOffsets().size() << " offsets for " << planned
                         << " arena, input and output buffers";
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!op.hasTrait<Instruction>())
      return op.emitOpError() << "is no instruction of a program";
  return success();
}

/// Fails unless every element is a kind of argument that Engine.fbs knows.
static LogicalResult verifyArguments(Operation *op, ArrayAttr arguments) {
  for (Attribute argument : arguments) {
    auto real = dyn_cast<FloatAttr>(argument);
    if (real ? !real.getType().isF64() : !isa<FlatSymbolRefAttr, BufferArgAttr, ExprAttr>(argument))
      return op->emitOpError() << "argument " << argument
                               << " is neither a buffer, an expression nor an f64";
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getVariants().empty())
    return emitOpError() << "has no variant";
  for (Attribute attribute : getVariants()) {
    auto variant = dyn_cast<VariantAttr>(attribute);
    if (!variant)
      return emitOpError() << "variants must be #engine.variant attributes";
    if (variant.getGrid().empty() || variant.getGrid().size() > 3)
      return emitOpError() << "a grid has one to three extents";
  }
  return verifyArguments(*this, getArgs());
}

LogicalResult HostCallOp::verify() { return verifyArguments(*this, getArgs()); }

LogicalResult CollectiveOp::verify() {
  if (failed(verifyWord(*this, "kind", getKind(),
                        {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all",
                         "send", "receive"})))
    return failure();
  if (elementBits(getElement()) == 0)
    return emitOpError() << "element type " << getElement() << " has no storage";
  bool wantsPeer = llvm::is_contained({"broadcast", "send", "receive"}, getKind());
  if (wantsPeer != (static_cast<int64_t>(getPeer()) >= 0))
    return emitOpError() << "a peer goes with broadcast, send and receive, and only with them";
  if (getReceiveCounts().has_value() != (getKind() == "all_to_all" && getCounts()))
    return emitOpError() << "receive counts go with all_to_all by counts, and only with it";
  return success();
}
