// SPDX-License-Identifier: Apache-2.0
// One method per table of Engine.fbs that belongs to a target.
#include "compiler/engine_file/EngineWriterUnit.h"

#include "compiler/engine_file/EngineWriterTypes.h"
#include "dialects/engine/EngineOps.h"
#include "runtime/schema/KernelAbi.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::engine;

/// Value of an expression that the verifier found constant.
static int64_t constantOf(ExprAttr expression) { return *expression.constantValue(); }

//===- Vectors, texts, expressions ----------------------------------------------------------===//

template <class OpT, class Write> auto EngineUnitWriter::list(UnitOp unit, Write write) {
  using Table = decltype(write(std::declval<OpT>()));
  std::vector<Table> tables;
  for (OpT op : unit.getOps<OpT>())
    tables.push_back(write(op));
  return builder.CreateVector(tables);
}

template <class Element>
EngineUnitWriter::Elements<Element> EngineUnitWriter::vector(llvm::ArrayRef<Element> values) {
  return builder.CreateVector(values.data(), values.size());
}

EngineUnitWriter::Elements<uint32_t> EngineUnitWriter::numbers(ArrayAttr names,
                                                               const SymbolIndex &index) {
  SmallVector<uint32_t> list;
  for (FlatSymbolRefAttr name : names.getAsRange<FlatSymbolRefAttr>())
    list.push_back(index.at(name.getAttr()));
  return vector<uint32_t>(list);
}

EngineUnitWriter::Text EngineUnitWriter::text(StringRef text) {
  return builder.CreateSharedString(text.data(), text.size());
}

EngineUnitWriter::Text EngineUnitWriter::optionalText(StringRef text) {
  return text.empty() ? Text() : this->text(text);
}

EngineUnitWriter::Offset<schema::Expr> EngineUnitWriter::expression(ExprAttr attribute) {
  std::vector<schema::ExprNode> nodes;
  std::optional<Expr> parsed = Expr::parse(attribute.getText());
  for (const Expr::Node &node : parsed->nodes) {
    int64_t value = node.value;
    if (node.op == Expr::Op::Dim)
      value = dims.at(StringAttr::get(attribute.getContext(), node.dim));
    nodes.emplace_back(value, schema::ExprOp(node.op));
  }
  return schema::CreateExpr(builder, builder.CreateVectorOfStructs(nodes));
}
static_assert(int(schema::ExprOp::Dim) == int(Expr::Op::Dim) &&
              int(schema::ExprOp::MAX) == int(Expr::Op::Max));

EngineUnitWriter::Tables<schema::Expr>
EngineUnitWriter::expressions(ArrayRef<ExprAttr> attributes) {
  std::vector<Offset<schema::Expr>> tables;
  for (ExprAttr attribute : attributes)
    tables.push_back(expression(attribute));
  return builder.CreateVector(tables);
}

EngineUnitWriter::Tables<schema::Range> EngineUnitWriter::ranges(ArrayRef<RangeAttr> attributes) {
  std::vector<Offset<schema::Range>> tables;
  for (RangeAttr range : attributes)
    tables.push_back(
        schema::CreateRange(builder, dims.at(StringAttr::get(range.getContext(), range.getDim())),
                            range.getMin(), range.getMax()));
  return builder.CreateVector(tables);
}

EngineUnitWriter::Tables<schema::Range> EngineUnitWriter::ranges(ArrayAttr attributes) {
  return ranges(llvm::to_vector(attributes.getAsRange<RangeAttr>()));
}

EngineUnitWriter::Tables<schema::Arg> EngineUnitWriter::args(ArrayAttr attributes) {
  std::vector<Offset<schema::Arg>> tables;
  for (Attribute attribute : attributes) {
    Offset<schema::Arg> arg;
    if (auto real = dyn_cast<FloatAttr>(attribute))
      arg = schema::CreateArg(builder, schema::ArgKind::Real, 0, 0, real.getValueAsDouble());
    else if (auto value = dyn_cast<ExprAttr>(attribute))
      arg = schema::CreateArg(builder, schema::ArgKind::Integer, 0, expression(value));
    else if (auto at = dyn_cast<BufferArgAttr>(attribute))
      arg = schema::CreateArg(builder, schema::ArgKind::Buffer,
                              buffers.at(at.getBuffer().getAttr()), expression(at.getOffset()));
    else
      arg = schema::CreateArg(builder, schema::ArgKind::Buffer,
                              buffers.at(cast<FlatSymbolRefAttr>(attribute).getAttr()));
    tables.push_back(arg);
  }
  return builder.CreateVector(tables);
}

//===- Memory and kernels -------------------------------------------------------------------===//

EngineUnitWriter::Offset<schema::Buffer> EngineUnitWriter::write(BufferOp op) {
  SmallVector<ExprAttr> extents(op.getShape().getAsRange<ExprAttr>());
  Text name = text(op.getSymName());
  Tables<schema::Expr> shape = expressions(extents);
  Offset<schema::Expr> bytes = expression(op.getBytes());
  Text tap = op.getTap() ? text(*op.getTap()) : Text();
  int32_t weight = op.getWeight() ? int32_t(weights.at(op.getWeightAttr().getAttr())) : -1;
  int32_t group = op.getGroup() ? int32_t(groups.at(op.getGroupAttr().getAttr())) : -1;
  return schema::CreateBuffer(builder, name, enumOf<schema::Role>(op.getRole()),
                              dtypeOf(op.getElement()), shape, bytes, weight, group, tap,
                              op.getZeroed());
}

EngineUnitWriter::Offset<schema::KvGroup> EngineUnitWriter::write(KvGroupOp op) {
  return schema::CreateKvGroup(builder, text(op.getSymName()), enumOf<schema::KvKind>(op.getKind()),
                               int32_t(op.getBlockTokens()), int64_t(op.getWindow()),
                               groupBytes[groups.at(op.getSymNameAttr())]);
}

FailureOr<EngineUnitWriter::Offset<schema::Library>> EngineUnitWriter::write(LibraryOp op) {
  std::string sectionName =
      librarySectionName(op->getParentOfType<UnitOp>().getSymName(), op.getSymName());
  const auto *section =
      llvm::find_if(sections, [&](const SectionEntry &entry) { return entry.name == sectionName; });
  if (section == sections.end())
    return op.emitError() << "INGOT-E3903: the file has no section '" << sectionName
                          << "' for this library";
  return schema::CreateLibrary(builder, text(op.getSymName()),
                               enumOf<schema::LibraryKind>(op.getKind()),
                               uint32_t(section - sections.begin()));
}

/// The entry of `op` in its library: in "K.cubin" or "K.ptx", which kernels may share, it is K.
static StringRef entryOf(KernelOp op) {
  StringRef library = op.getLibraryAttr().getValue();
  return library.consume_back(".cubin") || library.consume_back(".ptx") ? library : op.getSymName();
}

EngineUnitWriter::Offset<schema::Kernel> EngineUnitWriter::write(KernelOp op) {
  std::vector<Offset<schema::Fact>> facts;
  if (DictionaryAttr stated = op.getFactsAttr())
    for (NamedAttribute fact : stated)
      facts.push_back(schema::CreateFact(builder, text(fact.getName().getValue()),
                                         text(cast<StringAttr>(fact.getValue()).getValue())));
  auto extents = [&](std::optional<ArrayRef<int64_t>> values) -> Elements<uint32_t> {
    if (!values)
      return {};
    return vector<uint32_t>(SmallVector<uint32_t>(values->begin(), values->end()));
  };
  std::string constants;
  if (!op.getConstants().empty())
    llvm::raw_string_ostream(constants) << op.getConstants();
  Text name = text(op.getSymName()), entry = text(entryOf(op));
  Tables<schema::Range> guards = ranges(op.getGuards());
  Elements<uint32_t> block = extents(op.getBlock()), cluster = extents(op.getCluster());
  auto factTables = builder.CreateVector(facts);
  std::vector<Offset<schema::TensorMap>> maps;
  for (TensorMapAttr map : op.getTensorMaps().getAsRange<TensorMapAttr>())
    maps.push_back(write(map));
  Tables<schema::TensorMap> mapTables = builder.CreateVector(maps);
  Text source = text(op.getSource()), constantText = optionalText(constants),
       epilogue = optionalText(epilogueText(op));
  Tables<schema::Use> useTables = writeUses(kernels.at(op.getSymNameAttr()));
  return schema::CreateKernel(builder, name, entry, libraries.at(op.getLibraryAttr().getAttr()),
                              guards, op.getScratchBytes(), op.getSharedBytes(), block, cluster,
                              op.getSpmd(), factTables, source, constantText, epilogue, mapTables,
                              useTables);
}

EngineUnitWriter::Offset<schema::TensorMap> EngineUnitWriter::write(TensorMapAttr map) {
  std::optional<int64_t> rows = map.getRows().constantValue();
  Offset<schema::Expr> stepRows = rows ? Offset<schema::Expr>() : expression(map.getRows());
  return schema::CreateTensorMap(builder, uint32_t(map.getBuffer()), uint64_t(rows.value_or(0)),
                                 uint64_t(map.getRowBytes()), uint32_t(map.getBoxRows()),
                                 uint32_t(map.getBoxBytes()), schema::DType(map.elementType()),
                                 uint32_t(map.getSwizzle()), stepRows, map.getFenced());
}

//===- Programs -----------------------------------------------------------------------------===//

EngineUnitWriter::Offset<schema::Launch> EngineUnitWriter::write(LaunchOp op) {
  std::vector<Offset<schema::Variant>> variants;
  for (VariantAttr variant : op.getVariants().getAsRange<VariantAttr>()) {
    Tables<schema::Range> where = ranges(variant.getRanges());
    Tables<schema::Expr> grid = expressions(variant.getGrid());
    variants.push_back(
        schema::CreateVariant(builder, kernels.at(variant.getKernel().getAttr()), where, grid));
  }
  auto variantTables = builder.CreateVector(variants);
  return schema::CreateLaunch(builder, variantTables, args(op.getArgs()));
}

EngineUnitWriter::Offset<schema::Copy> EngineUnitWriter::write(CopyOp op) {
  BufferArgAttr source = op.getSource(), destination = op.getDestination();
  Offset<schema::Expr> sourceOffset = expression(source.getOffset()),
                       destinationOffset = expression(destination.getOffset()),
                       bytes = expression(op.getBytes());
  return schema::CreateCopy(builder, buffers.at(source.getBuffer().getAttr()), sourceOffset,
                            buffers.at(destination.getBuffer().getAttr()), destinationOffset,
                            bytes);
}

EngineUnitWriter::Offset<schema::Collective> EngineUnitWriter::write(CollectiveOp op) {
  auto optional = [&](FlatSymbolRefAttr name) {
    return name ? int32_t(buffers.at(name.getAttr())) : -1;
  };
  return schema::CreateCollective(
      builder, enumOf<schema::CollectiveKind>(op.getKind()), dtypeOf(op.getElement()),
      buffers.at(op.getSourceAttr().getAttr()), buffers.at(op.getDestinationAttr().getAttr()),
      expression(op.getCount()), optional(op.getCountsAttr()),
      rankGroups.at(op.getGroupAttr().getAttr()), int32_t(int64_t(op.getPeer())),
      optional(op.getReceiveCountsAttr()));
}

EngineUnitWriter::Offset<schema::Instruction> EngineUnitWriter::writeInstruction(Operation *op) {
  Text name = text(op->getAttrOfType<StringAttr>("site").getValue());
  schema::Operation kind = schema::Operation::NONE;
  Offset<void> table;
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    kind = schema::Operation::Launch;
    table = write(launch).Union();
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    kind = schema::Operation::Copy;
    table = write(copy).Union();
  } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
    kind = schema::Operation::Collective;
    table = write(collective).Union();
  } else {
    auto call = cast<HostCallOp>(op);
    kind = schema::Operation::HostCall;
    Text function = text(call.getFunction());
    table = schema::CreateHostCall(builder, function, args(call.getArgs())).Union();
  }
  return schema::CreateInstruction(builder, name, kind, table);
}

EngineUnitWriter::Offset<schema::Program> EngineUnitWriter::write(ProgramOp op) {
  std::vector<Offset<schema::Instruction>> instructions;
  std::vector<Offset<schema::Segment>> segments;
  size_t first = 0;
  for (Operation &inner : op.getBody().front()) {
    auto segment = dyn_cast<SegmentOp>(inner);
    if (!segment) {
      instructions.push_back(writeInstruction(&inner));
      continue;
    }
    int32_t tap = segment.getTap() ? int32_t(buffers.at(segment.getTapAttr().getAttr())) : -1;
    segments.push_back(schema::CreateSegment(builder, text(segment.getName()), uint32_t(first),
                                             uint32_t(instructions.size() - first), tap));
    first = instructions.size();
  }
  Text name = text(op.getSymName());
  Elements<uint32_t> usedDims = numbers(op.getDims(), dims),
                     inputs = numbers(op.getInputs(), buffers),
                     outputs = numbers(op.getOutputs(), buffers);
  auto instructionTables = builder.CreateVector(instructions);
  auto segmentTables = builder.CreateVector(segments);
  return schema::CreateProgram(builder, name, usedDims, inputs, outputs, instructionTables,
                               segmentTables);
}

//===- The unit -----------------------------------------------------------------------------===//

/// The contract: the planned tiers, and sums over the unit's buffers and kernels.
EngineUnitWriter::Offset<schema::MemoryContract> EngineUnitWriter::memory(UnitOp unit) {
  auto tiers = list<ArenaTierOp>(unit, [&](ArenaTierOp tier) {
    Tables<schema::Range> limits = ranges(tier.getLimits());
    SmallVector<uint64_t> offsets(tier.getOffsets().begin(), tier.getOffsets().end());
    return schema::CreateArenaTier(builder, limits, tier.getBytes(), vector<uint64_t>(offsets));
  });
  uint64_t weightBytes = 0, stateBytes = 0, scratchBytes = 0, slotBytes = 0;
  std::set<uint32_t> counted;
  for (BufferOp buffer : unit.getOps<BufferOp>()) {
    if (buffer.getRole() == "state")
      stateBytes += uint64_t(constantOf(buffer.getBytes()));
    if (buffer.getRole() == "slot")
      slotBytes += uint64_t(constantOf(buffer.getBytes()));
    if (!buffer.getWeight())
      continue;
    uint32_t weight = weights.at(buffer.getWeightAttr().getAttr());
    if (counted.insert(weight).second)
      weightBytes += placements[weight].bytes;
  }
  for (KernelOp kernel : unit.getOps<KernelOp>())
    scratchBytes = std::max(scratchBytes, uint64_t(kernel.getScratchBytes()));
  return schema::CreateMemoryContract(builder, weightBytes, tiers, stateBytes, scratchBytes,
                                      slotBytes);
}

/// Numbers the symbols of `unit`, and refuses what Engine.fbs has no place for.
LogicalResult EngineUnitWriter::number(UnitOp unit) {
  buffers.clear();
  groups.clear();
  libraries.clear();
  kernels.clear();
  programs.clear();
  rankGroups.clear();
  for (Operation &op : unit.getBody().front()) {
    SymbolIndex *index = llvm::TypeSwitch<Operation *, SymbolIndex *>(&op)
                             .Case([&](BufferOp) { return &buffers; })
                             .Case([&](KvGroupOp) { return &groups; })
                             .Case([&](LibraryOp) { return &libraries; })
                             .Case([&](KernelOp) { return &kernels; })
                             .Case([&](ProgramOp) { return &programs; })
                             .Case([&](RankGroupOp) { return &rankGroups; })
                             .Default(nullptr);
    if (index)
      index->insert({SymbolTable::getSymbolName(&op), uint32_t(index->size())});
    else if (!isa<ArenaTierOp, CoverageOp, NoteOp>(op))
      return op.emitError() << "INGOT-E3901: an engine file has no place for this operation";
    if (auto kernel = dyn_cast<KernelOp>(op); kernel && !kernel.getLibrary())
      return op.emitError() << "INGOT-E3902: kernel has not been compiled into a library";
  }
  groupBytes.assign(groups.size(), 0);
  for (BufferOp buffer : unit.getOps<BufferOp>())
    if (buffer.getRole() == "kv")
      groupBytes[groups.at(buffer.getGroupAttr().getAttr())] +=
          uint64_t(constantOf(buffer.getBytes()));
  collectUses(unit);
  return success();
}

FailureOr<flatbuffers::Offset<schema::Target>> EngineUnitWriter::write(UnitOp unit) {
  if (failed(number(unit)))
    return failure();
  std::vector<Offset<schema::Library>> libraryTables;
  for (LibraryOp library : unit.getOps<LibraryOp>()) {
    FailureOr<Offset<schema::Library>> table = write(library);
    if (failed(table))
      return failure();
    libraryTables.push_back(*table);
  }
  auto writeOne = [&](auto op) { return write(op); };
  auto libraryVector = builder.CreateVector(libraryTables);
  auto kernelTables = list<KernelOp>(unit, writeOne);
  auto bufferTables = list<BufferOp>(unit, writeOne);
  auto groupTables = list<KvGroupOp>(unit, writeOne);
  auto programTables = list<ProgramOp>(unit, writeOne);
  auto rankGroupTables = list<RankGroupOp>(unit, [&](RankGroupOp group) {
    SmallVector<uint32_t> ranks(group.getRanks().begin(), group.getRanks().end());
    return schema::CreateRankGroup(builder, vector<uint32_t>(ranks), text(group.getSymName()));
  });
  auto coverageTables = list<CoverageOp>(unit, [&](CoverageOp row) {
    Tables<schema::Range> over = ranges(row.getRanges());
    return schema::CreateCoverage(builder, programs.at(row.getProgramAttr().getAttr()),
                                  uint32_t(row.getInstruction()), over,
                                  numbers(row.getKernels(), kernels));
  });
  auto noteTables = list<NoteOp>(unit, [&](NoteOp note) {
    return schema::CreateNote(builder, text(note.getPass()), text(note.getSite()),
                              note.getApplied(), optionalText(note.getReason()));
  });
  TargetAttr target = unit.getTarget();
  std::vector<Text> features;
  for (StringAttr feature : target.getFeatures())
    features.push_back(text(feature.getValue()));
  auto featureTexts = builder.CreateVector(features);
  Offset<schema::MemoryContract> contract = memory(unit);
  return schema::CreateTarget(builder, text(target.getName()), text(target.getArch()), featureTexts,
                              int32_t(target.getPreference()), INGOT_KERNEL_ABI_VERSION,
                              optionalText(unit.getToolkit().value_or("")),
                              optionalText(unit.getMinimumDriver().value_or("")), libraryVector,
                              kernelTables, bufferTables, groupTables, programTables,
                              rankGroupTables, contract, coverageTables, noteTables,
                              uint32_t(unit.getRank()), uint32_t(unit.getRanks()),
                              text(unit.getSymName()), text(target.getBackend()));
}
