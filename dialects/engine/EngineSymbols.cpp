// SPDX-License-Identifier: Apache-2.0
// Verifies that every name an engine operation gives stands for something of the right kind.
#include "dialects/engine/EngineOps.h"

using namespace mlir;
using namespace ingot::engine;

/// The `Named` operation that `name` stands for, seen from `user`; null with a diagnostic if there
/// is none.
template <class Named>
static Named resolve(Operation *user, Attribute name, SymbolTableCollection &tables) {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
  if (!symbol) {
    user->emitOpError() << "expects a symbol instead of " << name;
    return {};
  }
  auto named = tables.lookupNearestSymbolFrom<Named>(user, symbol);
  if (!named)
    user->emitOpError() << "names " << symbol << ", which is no " << Named::getOperationName();
  return named;
}

template <class Named, class Names>
static LogicalResult resolveAll(Operation *user, const Names &names,
                                SymbolTableCollection &tables) {
  for (Attribute name : names)
    if (!resolve<Named>(user, name, tables))
      return failure();
  return success();
}

static LogicalResult resolveArguments(Operation *user, ArrayAttr arguments,
                                      SymbolTableCollection &tables) {
  for (Attribute argument : arguments) {
    if (auto at = dyn_cast<BufferArgAttr>(argument))
      argument = at.getBuffer();
    if (isa<SymbolRefAttr>(argument) && !resolve<BufferOp>(user, argument, tables))
      return failure();
  }
  return success();
}

/// Every dim that an attribute of `op` names must be among the module's.
static LogicalResult verifyDims(Operation *op, Operation *module, SymbolTableCollection &tables) {
  auto known = [&](StringRef dim) {
    return tables.lookupSymbolIn<DimOp>(module, StringAttr::get(op->getContext(), dim)) != nullptr;
  };
  std::optional<std::string> missing;
  op->getAttrDictionary().walk([&](RangeAttr range) {
    if (!known(range.getDim()))
      missing = range.getDim().str();
  });
  op->getAttrDictionary().walk([&](ExprAttr expression) {
    std::optional<Expr> parsed = Expr::parse(expression.getText());
    for (const Expr::Node &node : parsed->nodes)
      if (node.op == Expr::Op::Dim && !known(node.dim))
        missing = node.dim;
  });
  if (missing)
    return op->emitOpError() << "names the dim '" << *missing << "', which is not declared";
  return success();
}

/// What a unit names outside itself: dims and weights of the module.
LogicalResult UnitOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *module = mlir::SymbolTable::getNearestSymbolTable((*this)->getParentOp());
  WalkResult result = walk([&](Operation *op) -> WalkResult {
    if (failed(verifyDims(op, module, tables)))
      return WalkResult::interrupt();
    if (auto program = dyn_cast<ProgramOp>(op))
      for (Attribute dim : program.getDims()) {
        auto symbol = dyn_cast<FlatSymbolRefAttr>(dim);
        if (!symbol || !tables.lookupSymbolIn<DimOp>(module, symbol.getAttr()))
          return program.emitOpError() << "dims has " << dim << ", which is no engine.dim";
      }
    auto buffer = dyn_cast<BufferOp>(op);
    if (!buffer || !buffer.getWeight())
      return WalkResult::advance();
    auto weight = tables.lookupSymbolIn<WeightOp>(module, buffer.getWeightAttr().getAttr());
    if (!weight)
      return buffer.emitOpError() << "names " << buffer.getWeightAttr()
                                  << ", which is no engine.weight";
    if (buffer.getBytes().constantValue() > weight.byteSize())
      return buffer.emitOpError() << "has more bytes than the " << weight.byteSize() << " of "
                                  << buffer.getWeightAttr();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(!getGroup() || resolve<KvGroupOp>(*this, getGroupAttr(), tables));
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(!getLibrary() || resolve<LibraryOp>(*this, getLibraryAttr(), tables));
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(succeeded(resolveAll<BufferOp>(*this, getInputs(), tables)) &&
                 succeeded(resolveAll<BufferOp>(*this, getOutputs(), tables)));
}

/// What a kernel reads by tensor maps are buffers of the launch. Those that launches write must be
/// read behind a fence: generic stores and tensor copies are different proxies of memory.
static LogicalResult verifyMaps(LaunchOp launch, KernelOp kernel, SymbolTableCollection &tables) {
  SmallVector<FlatSymbolRefAttr> buffers;
  for (Attribute argument : launch.getArgs()) {
    if (auto at = dyn_cast<BufferArgAttr>(argument))
      argument = at.getBuffer();
    if (auto buffer = dyn_cast<FlatSymbolRefAttr>(argument))
      buffers.push_back(buffer);
  }
  for (TensorMapAttr map : kernel.getTensorMaps().getAsRange<TensorMapAttr>()) {
    if (map.getBuffer() >= int64_t(buffers.size()))
      return launch.emitOpError() << "has " << buffers.size() << " buffers, and a tensor map of "
                                  << kernel.getSymNameAttr() << " reads number " << map.getBuffer();
    FlatSymbolRefAttr read = buffers[map.getBuffer()];
    auto buffer = tables.lookupNearestSymbolFrom<BufferOp>(launch, read);
    bool isWritten =
        buffer && llvm::is_contained({"output", "arena", "kv", "state"}, buffer.getRole());
    if (isWritten && !map.getFenced())
      return launch.emitOpError() << kernel.getSymNameAttr() << " reads " << read
                                  << ", which launches write, by a tensor map that is not fenced";
  }
  return success();
}

/// Clusters fill the grid.
static LogicalResult verifyCluster(LaunchOp launch, VariantAttr variant, KernelOp kernel) {
  ArrayRef<int64_t> cluster = kernel.getCluster().value_or(ArrayRef<int64_t>());
  for (size_t axis = 0; axis < cluster.size(); ++axis) {
    StringRef extent = axis < variant.getGrid().size() ? variant.getGrid()[axis].getText() : "1";
    if (Expr::parse(extent)->divisor() % cluster[axis] != 0)
      return launch.emitOpError() << "grid extent '" << extent << "' is no multiple of the "
                                  << cluster[axis] << " blocks of a cluster of "
                                  << kernel.getSymNameAttr();
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(resolveArguments(*this, getArgs(), tables)))
    return failure();
  for (VariantAttr variant : getVariants().getAsRange<VariantAttr>()) {
    auto kernel = resolve<KernelOp>(*this, variant.getKernel(), tables);
    if (!kernel || failed(verifyMaps(*this, kernel, tables)) ||
        failed(verifyCluster(*this, variant, kernel)))
      return failure();
  }
  return success();
}

LogicalResult CopyOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(resolve<BufferOp>(*this, getSource().getBuffer(), tables) &&
                 resolve<BufferOp>(*this, getDestination().getBuffer(), tables));
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto isBuffer = [&](FlatSymbolRefAttr name) {
    return !name || resolve<BufferOp>(*this, name, tables);
  };
  return success(isBuffer(getSourceAttr()) && isBuffer(getDestinationAttr()) &&
                 isBuffer(getCountsAttr()) && isBuffer(getReceiveCountsAttr()) &&
                 resolve<RankGroupOp>(*this, getGroupAttr(), tables));
}

LogicalResult HostCallOp::verifySymbolUses(SymbolTableCollection &tables) {
  return resolveArguments(*this, getArgs(), tables);
}

LogicalResult SegmentOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(!getTap() || resolve<BufferOp>(*this, getTapAttr(), tables));
}

LogicalResult CoverageOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto program = resolve<ProgramOp>(*this, getProgramAttr(), tables);
  if (!program || failed(resolveAll<KernelOp>(*this, getKernels(), tables)))
    return failure();
  auto index = static_cast<int64_t>(getInstruction());
  for (Operation &op : program.getBody().front()) {
    if (isa<SegmentOp>(op) || index-- != 0)
      continue;
    auto launch = dyn_cast<LaunchOp>(op);
    bool known =
        launch && llvm::all_of(getKernels(), [&](Attribute kernel) {
          return llvm::any_of(launch.getVariants().getAsRange<VariantAttr>(),
                              [&](VariantAttr variant) { return variant.getKernel() == kernel; });
        });
    if (!known)
      return emitOpError() << "instruction " << getInstruction() << " of " << getProgramAttr()
                           << " does not launch these kernels";
    return success();
  }
  return emitOpError() << getProgramAttr() << " has no instruction " << getInstruction();
}
