// SPDX-License-Identifier: Apache-2.0
// Programs become launches over buffers; kernels are asked from the target and shared when equal.
#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LaunchScalars.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/plan/KernelFacts.h"
#include "passes/plan/Passes.h"
#include "passes/plan/Tuning.h"
#include "runtime/schema/Names.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>

namespace ingot {
#define GEN_PASS_DEF_SELECTKERNELSPASS
#include "passes/plan/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::engine;

namespace {

constexpr int64_t kMostMultiprocessors = 1024;

/// The unit under construction.
class UnitBuilder {
public:
  explicit UnitBuilder(ModuleOp module)
      : module(module), context(module.getContext()), buffers(context), kernels(context),
        programs(context), weights(context) {}

  LogicalResult run() {
    provider = EngineDialect::providerFor(module);
    if (!provider)
      return failure();
    declared = declaredRanges(module);
    tuning.emplace(module, *provider, declared);

    auto target = attributeOf<EngineDialect::TargetAttrHelper>(module);
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto unit =
        UnitOp::create(builder, module.getLoc(), "unit", target, 0, 1, StringAttr(), StringAttr());
    Block *body = builder.createBlock(&unit.getBody());
    weights.setInsertionPoint(unit);
    // Three groups in one block: buffers, kernels, programs. The marks keep the groups apart while
    // all three grow.
    Operation *firstMark = mark(body), *secondMark = mark(body);
    buffers.setInsertionPoint(firstMark);
    kernels.setInsertionPoint(secondMark);
    programs.setInsertionPointToEnd(body);
    module.walk(
        [&](llm::StoreWeightOp op) { formats[op.getName()] = op.getFormat().value_or("").str(); });
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.getName() != "weights")
        functions.push_back(function);
    if (failed(makeKvGroups(functions)))
      return failure();
    for (func::FuncOp function : functions)
      if (failed(lower(function)))
        return failure();
    firstMark->erase();
    secondMark->erase();
    for (func::FuncOp function : functions)
      function->erase();
    OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
    tuning->report(atEnd);
    SmallVector<NoteOp> notes(module.getOps<NoteOp>());
    for (NoteOp note : notes)
      note->moveBefore(body, body->end());
    return success();
  }

private:
  static Operation *mark(Block *body) {
    OpBuilder builder = OpBuilder::atBlockEnd(body);
    return NoteOp::create(builder, builder.getUnknownLoc(), "", "", true, "");
  }

  ExprAttr expr(const Twine &text) { return getExpr(context, text.str()); }

  /// Shape of a tensor: its row expression, then its static extents; `width`: of a block table.
  ArrayAttr shapeOf(RankedTensorType type, StringRef width = "") {
    SmallVector<Attribute> shape;
    for (auto [axis, extent] : llvm::enumerate(type.getShape()))
      shape.push_back(!ShapedType::isDynamic(extent) ? expr(Twine(extent))
                      : axis == 0                    ? Attribute(llm::rowsOf(type))
                                                     : expr(width));
    return ArrayAttr::get(context, shape);
  }

  /// Bytes of a tensor of `shape`.
  ExprAttr bytesOf(ArrayAttr shape, Type element) {
    std::string text;
    for (Attribute extent : shape)
      text += "(" + cast<ExprAttr>(extent).getText().str() + ") * ";
    return expr(text + std::to_string((elementBits(element) + 7) / 8));
  }

  FlatSymbolRefAttr makeBuffer(StringRef wanted, StringRef role, Type element, ArrayAttr shape,
                               ExprAttr bytes, FlatSymbolRefAttr weight = {},
                               FlatSymbolRefAttr group = {}) {
    std::string name = uniqueName(wanted);
    auto buffer = BufferOp::create(buffers, buffers.getUnknownLoc(), name, role, element, shape,
                                   bytes, weight, group, StringAttr(), /*zeroed=*/false);
    bufferOps[name] = buffer;
    return FlatSymbolRefAttr::get(context, name);
  }

  FlatSymbolRefAttr makeTensorBuffer(StringRef wanted, StringRef role, RankedTensorType type,
                                     StringRef width = "") {
    ArrayAttr shape = shapeOf(type, width);
    return makeBuffer(wanted, role, type.getElementType(), shape,
                      bytesOf(shape, type.getElementType()));
  }

  std::string uniqueName(StringRef wanted) {
    std::string name = wanted.str();
    for (int i = 2; !taken.insert({name, 0}).second; ++i)
      name = wanted.str() + "." + std::to_string(i);
    return name;
  }

  /// The buffer of a function argument.
  FailureOr<FlatSymbolRefAttr> argumentBuffer(func::FuncOp function, unsigned index) {
    auto name = function.getArgAttrOfType<StringAttr>(
        index, llm::LlmDialect::InputAttrHelper::getNameStr());
    Type type = function.getArgument(index).getType();
    if (!name)
      return function.emitOpError() << "argument " << index << " has no llm.input name";
    auto [shared, isNew] = interface.try_emplace(name.getValue(), type);
    if (!isNew) { // another program's: the same memory
      if (shared->second != type)
        return function.emitOpError() << "'" << name.getValue() << "' is " << type
                                      << ", in another program " << shared->second;
      return FlatSymbolRefAttr::get(context, name.getValue());
    }
    if (auto group = llm::kvGroupOf(type)) {
      auto kv = dyn_cast<llm::KvType>(type);
      auto state = dyn_cast<llm::StateType>(type);
      ExprAttr bytes = expr(Twine(kv ? kv.blockBytes() : state.blockBytes()));
      return makeBuffer(name, "kv",
                        kv ? IntegerType::get(context, 8) : state.getRow().getElementType(),
                        kv ? ArrayAttr::get(context, {bytes}) : shapeOf(state.getRow()), bytes, {},
                        FlatSymbolRefAttr::get(context, group->name()));
    }
    if (auto state = dyn_cast<llm::StateType>(type)) {
      ArrayAttr shape = shapeOf(state.getRow());
      return makeBuffer(name, "state", state.getRow().getElementType(), shape,
                        bytesOf(shape, state.getRow().getElementType()));
    }
    FailureOr<std::optional<llm::KvGroup>> group = tableGroup(function.getArgument(index));
    if (failed(group))
      return failure();
    std::string width = *group ? llm::tableWidthOf(**group, function) : schema::dim::tableWidth;
    auto buffer = makeTensorBuffer(name, "input", cast<RankedTensorType>(type), width);
    if (*group)
      bufferOps[buffer.getValue()].setGroupAttr(FlatSymbolRefAttr::get(context, (*group)->name()));
    return buffer;
  }

  /// The KV group whose block table `input` is; nothing where it is none.
  FailureOr<std::optional<llm::KvGroup>> tableGroup(BlockArgument input) {
    std::optional<llm::KvGroup> found;
    // Of what operations on caches read, tables alone are matrices of integers.
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() != 2 || !type.getElementType().isInteger(32))
      return found;
    for (Operation *user : input.getUsers())
      for (Value operand : user->getOperands())
        if (auto used = llm::kvGroupOf(operand.getType())) {
          if (found && found->name() != used->name())
            return user->emitOpError() << "uses one block table for caches of @" << used->name()
                                       << " and @" << found->name();
          found = used;
        }
    return found;
  }

  /// A group for each kind and window of the caches of `functions`. Those whose blocks have other
  /// sizes than the first's need the width of their block tables as a dim of their own.
  LogicalResult makeKvGroups(ArrayRef<func::FuncOp> functions) {
    std::set<llm::KvGroup> groups;
    for (func::FuncOp function : functions)
      for (Type type : function.getArgumentTypes())
        if (auto group = llm::kvGroupOf(type)) {
          auto known = groups.insert(*group).first;
          if (known->blockTokens != group->blockTokens)
            return function.emitOpError()
                   << "KV caches of @" << group->name() << " differ in their block size";
        }
    func::FuncOp first = groups.empty() ? func::FuncOp() : functions.front();
    for (const llm::KvGroup &group : groups) {
      if (group.blockTokens != groups.begin()->blockTokens &&
          llm::tableWidthOf(group, first) == schema::dim::tableWidth)
        return first.emitOpError() << "the width of the block table of @" << group.name()
                                   << ", whose blocks are of another size, is no dim";
      KvGroupOp::create(buffers, module.getLoc(), group.name(), group.kind, group.blockTokens,
                        group.window);
    }
    return success();
  }

  LogicalResult lower(func::FuncOp function) {
    valueBuffers.clear();
    SmallVector<Attribute> inputs, outputs;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      FailureOr<FlatSymbolRefAttr> buffer = argumentBuffer(function, i);
      if (failed(buffer))
        return failure();
      valueBuffers[function.getArgument(i)] = *buffer;
      if (isa<RankedTensorType>(function.getArgument(i).getType()))
        inputs.push_back(*buffer);
    }
    auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
      auto name = function.getResultAttrOfType<StringAttr>(
          i, llm::LlmDialect::OutputAttrHelper::getNameStr());
      if (!name || valueBuffers.count(value))
        return function.emitOpError() << "result " << i << " must have its own llm.output name";
      FlatSymbolRefAttr buffer =
          makeTensorBuffer(name, "output", cast<RankedTensorType>(value.getType()));
      interface[buffer.getValue()] = value.getType();
      valueBuffers[value] = buffer;
      outputs.push_back(buffer);
    }
    auto program =
        ProgramOp::create(programs, function.getLoc(), function.getName(), dimsOf(function),
                          ArrayAttr::get(context, inputs), ArrayAttr::get(context, outputs));
    OpBuilder instructions(context);
    instructions.createBlock(&program.getBody());
    bool open = false; // instructions since the last segment end
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (auto load = dyn_cast<llm::LoadWeightOp>(op)) {
        bindWeight(load);
      } else if (auto boundary = dyn_cast<llm::BoundaryOp>(op)) {
        FlatSymbolRefAttr buffer = valueBuffers[boundary.getInput()];
        valueBuffers[boundary.getResult()] = buffer;
        bufferOps[buffer.getValue()].setTapAttr(boundary.getSegmentAttr());
        SegmentOp::create(instructions, op.getLoc(), boundary.getSegmentAttr(), buffer);
        open = false;
      } else if (isa<llm::JoinRowsOp, llm::SplitRowsOp>(op)) {
        if (valueBuffers.count(op.getResult(0)))
          return op.emitOpError() << "a view of other memory cannot be a result";
        valueBuffers[op.getResult(0)] = valueBuffers[op.getOperand(0)];
      } else {
        if (failed(launch(instructions, op)))
          return failure();
        open = true;
      }
    }
    if (open) {
      FlatSymbolRefAttr tap =
          outputs.empty() ? FlatSymbolRefAttr() : cast<FlatSymbolRefAttr>(outputs.front());
      SegmentOp::create(instructions, function.getLoc(),
                        StringAttr::get(context, function.getName() == schema::program::step
                                                     ? "head"
                                                     : function.getName()),
                        tap);
    }
    return success();
  }

  /// The declared dims that the operations of `function` are handed.
  ArrayAttr dimsOf(func::FuncOp function) {
    std::set<std::string> used;
    for (Operation &op : function.getBody().front()) {
      auto scalars = llm::launchScalars(&op);
      used.insert(scalars.begin(), scalars.end());
    }
    SmallVector<Attribute> dims;
    for (RangeAttr range : declared)
      if (used.count(range.getDim().str()))
        dims.push_back(FlatSymbolRefAttr::get(context, range.getDim()));
    return ArrayAttr::get(context, dims);
  }

  void bindWeight(llm::LoadWeightOp load) {
    std::string bufferName = "weight." + load.getName().str();
    if (!bufferOps.count(bufferName)) {
      WeightOp::create(weights, load.getLoc(), load.getName(), load.getType(),
                       formats.lookup(load.getName()));
      auto type = cast<RankedTensorType>(load.getType());
      SmallVector<Attribute> shape;
      for (int64_t extent : type.getShape())
        shape.push_back(expr(Twine(extent)));
      makeBuffer(bufferName, "weight", type.getElementType(), ArrayAttr::get(context, shape),
                 expr(Twine(storedBytes(type))), FlatSymbolRefAttr::get(context, load.getName()));
    }
    valueBuffers[load.getResult()] = FlatSymbolRefAttr::get(context, bufferName);
  }

  LogicalResult launch(OpBuilder &builder, Operation &op) {
    SmallVector<KernelVariant> variants;
    if (failed(provider->kernelsFor(&op, declared, variants)))
      return failure();
    tuning->choose(&op, variants);
    if (failed(checkSums(op, variants)))
      return failure();
    SmallVector<Attribute> args;
    for (Value operand : op.getOperands()) {
      auto buffer = valueBuffers.find(operand);
      if (buffer == valueBuffers.end())
        return op.emitOpError() << "reads a weight that was not hoisted";
      args.push_back(buffer->second);
    }
    std::string site = siteOf(&op);
    for (Value result : op.getResults()) {
      if (!valueBuffers.count(result))
        valueBuffers[result] =
            makeTensorBuffer("value." + site, "arena", cast<RankedTensorType>(result.getType()));
      args.push_back(valueBuffers[result]);
    }
    if (llvm::any_of(variants, [](const KernelVariant &variant) { return variant.workspace; }))
      args.push_back(workspaceFor(variants));
    for (const std::string &dim : llm::launchScalars(&op))
      args.push_back(expr(dim));
    SmallVector<Attribute> choices;
    for (const KernelVariant &variant : variants) {
      declareDevice(variant);
      choices.push_back(
          VariantAttr::get(context, kernelFor(variant, op), variant.ranges, variant.grid));
    }
    LaunchOp::create(builder, op.getLoc(), op.getName().stripDialect().str() + " " + site,
                     ArrayAttr::get(context, choices), ArrayAttr::get(context, args));
    return success();
  }

  /// Fails if the operation adds without an order, or a kernel in another one.
  static LogicalResult checkSums(Operation &op, ArrayRef<KernelVariant> variants) {
    auto adds = dyn_cast<llm::SumsOpInterface>(op);
    if (!adds)
      return success();
    SumsAttr sums = adds.getSumsAttr();
    if (!sums)
      return op.emitOpError() << "INGOT-E4009: it adds, and has no order of sums";
    for (const KernelVariant &variant : variants)
      if (variant.fact(kPlainKernel).empty() && !sums.admits(variant.sums))
        return op.emitOpError() << "INGOT-E4008: a kernel '" << variant.source
                                << "' adds in the order "
                                << (variant.sums ? variant.sums.text() : "that it does not tell")
                                << ", the operation has " << sums.text();
    return success();
  }

  /// The unit's workspace, grown to what `variants` need.
  FlatSymbolRefAttr workspaceFor(ArrayRef<KernelVariant> variants) {
    for (const KernelVariant &variant : variants)
      if (variant.workspace)
        workspaceBytes.insert(variant.workspace.getText().str());
    std::string bytes = std::to_string(kCounterBytes);
    for (const std::string &needed : workspaceBytes)
      bytes += " max (" + needed + ")";
    if (!workspace) {
      auto name = makeBuffer("workspace", "arena", IntegerType::get(context, 8),
                             ArrayAttr::get(context, {expr(bytes)}), expr(bytes));
      workspace = bufferOps[name.getValue()];
      workspace.setZeroed(true);
    }
    workspace.setBytesAttr(expr(bytes));
    workspace.setShapeAttr(ArrayAttr::get(context, {expr(bytes)}));
    return FlatSymbolRefAttr::get(context, workspace.getSymName());
  }

  /// Declares the device's dim that `variant` uses, if it does.
  void declareDevice(const KernelVariant &variant) {
    auto uses = [](ExprAttr expr) {
      return llvm::any_of(Expr::parse(expr.getText())->nodes, [](const Expr::Node &node) {
        return node.op == Expr::Op::Dim && node.dim == schema::dim::multiprocessors;
      });
    };
    if (module.lookupSymbol<DimOp>(schema::dim::multiprocessors) ||
        !llvm::any_of(variant.grid, uses))
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    for (auto dim : module.getOps<DimOp>())
      builder.setInsertionPointAfter(dim);
    DimOp::create(builder, module.getLoc(), schema::dim::multiprocessors, "device", 1,
                  kMostMultiprocessors);
  }

  /// The unit's kernel like `variant`, made on first use.
  FlatSymbolRefAttr kernelFor(const KernelVariant &variant, Operation &op) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    stream << variant.source << variant.constants << variant.scratchBytes << variant.spmd;
    for (int64_t extent : variant.block)
      stream << " block " << extent;
    for (int64_t extent : variant.cluster)
      stream << " cluster " << extent;
    stream << " shared " << variant.sharedBytes;
    for (TensorMapAttr map : variant.tensorMaps)
      stream << map;
    for (RangeAttr guard : variant.guards)
      stream << guard;
    SmallVector<NamedAttribute> facts = workFacts(&op);
    llvm::append_range(facts, variant.facts);
    if (variant.sums) {
      Builder builder(context);
      facts.push_back(builder.getNamedAttr("sums", builder.getStringAttr(variant.sums.text())));
    }
    for (NamedAttribute fact : facts)
      stream << fact.getName() << fact.getValue();
    Region *region = op.getNumRegions() ? &op.getRegion(0) : nullptr;
    if (region && !region->empty())
      region->front().print(stream);
    auto known = kernelNames.find(key);
    if (known != kernelNames.end())
      return known->second;

    std::string name = uniqueName(variant.source + "_" + std::to_string(kernelNames.size()));
    SmallVector<Attribute> guards(variant.guards.begin(), variant.guards.end());
    SmallVector<Attribute> maps(variant.tensorMaps.begin(), variant.tensorMaps.end());
    auto kernel = KernelOp::create(kernels, op.getLoc(), name, variant.source, variant.constants,
                                   ArrayAttr::get(context, guards), variant.scratchBytes,
                                   variant.sharedBytes, extents(variant.block),
                                   extents(variant.cluster), ArrayAttr::get(context, maps),
                                   variant.spmd, FlatSymbolRefAttr(), DictionaryAttr());
    kernel.addFacts(facts);
    if (region && !region->empty())
      copyEpilogue(kernel, *region);
    auto symbol = FlatSymbolRefAttr::get(context, name);
    kernelNames[key] = symbol;
    return symbol;
  }

  DenseI64ArrayAttr extents(ArrayRef<int64_t> values) {
    return values.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(context, values);
  }

  /// Clones a scalar region into a kernel; its terminator becomes engine.yield.
  static void copyEpilogue(KernelOp kernel, Region &region) {
    IRMapping mapping;
    region.cloneInto(&kernel.getEpilogue(), mapping);
    Operation *yield = kernel.getEpilogue().front().getTerminator();
    OpBuilder builder(yield);
    engine::YieldOp::create(builder, yield->getLoc(), yield->getOperand(0));
    yield->erase();
  }

  ModuleOp module;
  MLIRContext *context;
  std::unique_ptr<KernelProvider> provider;
  SmallVector<RangeAttr> declared;
  std::optional<Tuning> tuning;
  OpBuilder buffers, kernels, programs, weights;
  BufferOp workspace;
  std::set<std::string> workspaceBytes; ///< what launches need, each once
  llvm::StringMap<char> taken;
  llvm::StringMap<BufferOp> bufferOps;
  llvm::StringMap<Type> interface; ///< types of inputs and outputs, by their names
  llvm::StringMap<FlatSymbolRefAttr> kernelNames;
  llvm::StringMap<std::string> formats;
  DenseMap<Value, FlatSymbolRefAttr> valueBuffers;
};

struct SelectKernels : ingot::impl::SelectKernelsPassBase<SelectKernels> {
  void runOnOperation() override {
    if (failed(UnitBuilder(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
