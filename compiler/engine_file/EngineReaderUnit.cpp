// SPDX-License-Identifier: Apache-2.0
// One method per table of Engine.fbs that belongs to a target; every index is checked here.
#include "compiler/engine_file/EngineReaderUnit.h"

#include "compiler/engine_file/EngineWriterTypes.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::engine;

InFlightDiagnostic EngineUnitReader::bad(const Twine &what) {
  return emitError(location) << "INGOT-E5801: engine metadata: " << what;
}

//===- Names, expressions, ranges, arguments ------------------------------------------------===//

FlatSymbolRefAttr EngineUnitReader::named(const NameList &names, int64_t index, StringRef what) {
  if (index >= 0 && size_t(index) < names.size())
    return names[size_t(index)];
  bad("there is no " + what + " " + Twine(index));
  return {};
}

FailureOr<FlatSymbolRefAttr> EngineUnitReader::optionallyNamed(const NameList &names, int64_t index,
                                                               StringRef what) {
  if (index == -1)
    return FlatSymbolRefAttr();
  if (FlatSymbolRefAttr name = named(names, index, what))
    return name;
  return failure();
}

FailureOr<ArrayAttr> EngineUnitReader::listed(const NameList &names,
                                              const flatbuffers::Vector<uint32_t> *indices,
                                              StringRef what) {
  SmallVector<Attribute> list;
  for (uint32_t i = 0; i < countOf(indices); ++i) {
    FlatSymbolRefAttr name = named(names, indices->Get(i), what);
    if (!name)
      return failure();
    list.push_back(name);
  }
  return builder.getArrayAttr(list);
}

ExprAttr EngineUnitReader::expression(const schema::Expr *table) {
  constexpr uint32_t maximumNodes = 256;
  Expr parsed;
  int depth = 0;
  bool wellFormed = table && countOf(table->nodes()) <= maximumNodes;
  for (uint32_t i = 0; wellFormed && i < countOf(table->nodes()); ++i) {
    const schema::ExprNode &node = *table->nodes()->Get(i);
    if (node.op() == schema::ExprOp::Const) {
      wellFormed = node.value() >= 0;
      parsed.nodes.push_back({Expr::Op::Const, node.value()});
      ++depth;
    } else if (node.op() == schema::ExprOp::Dim) {
      FlatSymbolRefAttr dim = named(dims, node.value(), "dim");
      if (!dim)
        return {};
      parsed.nodes.push_back({Expr::Op::Dim, 0, dim.getValue().str()});
      ++depth;
    } else {
      wellFormed = node.op() <= schema::ExprOp::MAX && --depth > 0;
      parsed.nodes.push_back({Expr::Op(node.op())});
    }
  }
  if (wellFormed && depth == 1)
    if (std::string text = parsed.str(); Expr::parse(text))
      return ExprAttr::get(builder.getContext(), text);
  bad("malformed expression");
  return {};
}

FailureOr<SmallVector<ExprAttr>>
EngineUnitReader::expressions(const TableVector<schema::Expr> *tables) {
  SmallVector<ExprAttr> list;
  for (uint32_t i = 0; i < countOf(tables); ++i) {
    ExprAttr attribute = expression(tables->Get(i));
    if (!attribute)
      return failure();
    list.push_back(attribute);
  }
  return list;
}

FailureOr<SmallVector<RangeAttr>>
EngineUnitReader::ranges(const TableVector<schema::Range> *tables) {
  SmallVector<RangeAttr> list;
  for (uint32_t i = 0; i < countOf(tables); ++i) {
    const schema::Range &range = *tables->Get(i);
    FlatSymbolRefAttr dim = named(dims, range.dim(), "dim");
    if (!dim)
      return failure();
    auto attribute = RangeAttr::getChecked([&] { return bad(""); }, builder.getContext(),
                                           dim.getValue(), range.min(), range.max());
    if (!attribute)
      return failure();
    list.push_back(attribute);
  }
  return list;
}

FailureOr<ArrayAttr> EngineUnitReader::rangeList(const TableVector<schema::Range> *tables) {
  FailureOr<SmallVector<RangeAttr>> list = ranges(tables);
  if (failed(list))
    return failure();
  return builder.getArrayAttr(SmallVector<Attribute>(list->begin(), list->end()));
}

FailureOr<ArrayAttr> EngineUnitReader::args(const TableVector<schema::Arg> *tables) {
  SmallVector<Attribute> list;
  for (uint32_t i = 0; i < countOf(tables); ++i) {
    const schema::Arg &arg = *tables->Get(i);
    Attribute attribute;
    if (arg.kind() == schema::ArgKind::Real) {
      attribute = builder.getF64FloatAttr(arg.real());
    } else if (arg.kind() == schema::ArgKind::Integer) {
      attribute = expression(arg.value());
    } else if (arg.kind() == schema::ArgKind::Buffer) {
      FlatSymbolRefAttr buffer = named(buffers, arg.buffer(), "buffer");
      ExprAttr offset = buffer && arg.value() ? expression(arg.value()) : ExprAttr();
      if (!buffer || (arg.value() && !offset))
        return failure();
      attribute = offset ? Attribute(BufferArgAttr::get(builder.getContext(), buffer, offset))
                         : Attribute(buffer);
    } else {
      bad("unknown kind of argument");
    }
    if (!attribute)
      return failure();
    list.push_back(attribute);
  }
  return builder.getArrayAttr(list);
}

//===- Memory and kernels -------------------------------------------------------------------===//

LogicalResult EngineUnitReader::read(const schema::Buffer &table) {
  std::optional<StringRef> role = wordOf(table.role());
  Type element = elementOf(builder.getContext(), table.dtype());
  if (!role || !element)
    return bad("buffer '" + textOf(table.name()) + "' has an unknown role or element type");
  FailureOr<SmallVector<ExprAttr>> shape = expressions(table.shape());
  ExprAttr bytes = expression(table.bytes());
  FailureOr<FlatSymbolRefAttr> weight = optionallyNamed(weights, table.weight(), "weight"),
                               group = optionallyNamed(groups, table.group(), "KV group");
  if (failed(shape) || !bytes || failed(weight) || failed(group))
    return failure();
  BufferOp::create(builder, location, builder.getStringAttr(textOf(table.name())),
                   builder.getStringAttr(*role), TypeAttr::get(element),
                   builder.getArrayAttr(SmallVector<Attribute>(shape->begin(), shape->end())),
                   bytes, *weight, *group,
                   table.tap() ? builder.getStringAttr(textOf(table.tap())) : StringAttr(),
                   table.zeroed() ? builder.getUnitAttr() : UnitAttr());
  return success();
}

LogicalResult EngineUnitReader::read(const schema::KvGroup &table) {
  std::optional<StringRef> kind = wordOf(table.kind());
  if (!kind)
    return bad("KV group '" + textOf(table.name()) + "' is of an unknown kind");
  KvGroupOp::create(builder, location, builder.getStringAttr(textOf(table.name())),
                    builder.getStringAttr(*kind), number(table.block_tokens()),
                    number(table.window()));
  return success();
}

LogicalResult EngineUnitReader::read(const schema::Library &table) {
  std::optional<StringRef> kind = wordOf(table.kind());
  if (!kind)
    return bad("library '" + textOf(table.name()) + "' is of an unknown kind");
  LibraryOp::create(builder, location, textOf(table.name()), *kind);
  return success();
}

LogicalResult EngineUnitReader::read(const schema::Kernel &table) {
  FailureOr<ArrayAttr> guards = rangeList(table.guards());
  FlatSymbolRefAttr library = named(libraries, table.library(), "library");
  if (failed(guards) || !library)
    return failure();
  auto constants = builder.getDictionaryAttr({});
  if (StringRef text = textOf(table.constants()); !text.empty()) {
    constants =
        dyn_cast_or_null<DictionaryAttr>(parseAttributeText(builder.getContext(), text.str()));
    if (!constants)
      return bad("kernel '" + textOf(table.name()) + "' has malformed constants");
  }
  NamedAttrList facts;
  for (uint32_t i = 0; i < countOf(table.facts()); ++i) {
    StringRef key = textOf(table.facts()->Get(i)->key());
    if (key.empty())
      return bad("kernel '" + textOf(table.name()) + "' has metadata without a name");
    facts.set(key, builder.getStringAttr(textOf(table.facts()->Get(i)->value())));
  }
  auto extents = [&](const flatbuffers::Vector<uint32_t> *list) -> DenseI64ArrayAttr {
    if (!list)
      return {};
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(list->begin(), list->end()));
  };
  SmallVector<Attribute> maps;
  for (uint32_t i = 0; i < countOf(table.tensor_maps()); ++i) {
    maps.push_back(readTensorMap(*table.tensor_maps()->Get(i)));
    if (!maps.back())
      return failure();
  }
  auto kernel = KernelOp::create(
      builder, location, builder.getStringAttr(textOf(table.name())),
      builder.getStringAttr(textOf(table.source())), constants, *guards,
      number(int64_t(table.scratch_bytes())), number(int64_t(table.shared_bytes())),
      extents(table.block()), extents(table.cluster()), builder.getArrayAttr(maps),
      table.spmd() ? builder.getUnitAttr() : UnitAttr(), library,
      facts.empty() ? DictionaryAttr() : facts.getDictionary(builder.getContext()));
  return readEpilogue(kernel, table);
}

TensorMapAttr EngineUnitReader::readTensorMap(const schema::TensorMap &table) {
  MLIRContext *context = builder.getContext();
  if (table.element() > schema::DType::MAX || table.rows() > UINT32_MAX) {
    bad("a tensor map has elements of an unknown type, or more rows than any device counts");
    return {};
  }
  ExprAttr rows = table.step_rows() ? expression(table.step_rows())
                                    : getExpr(context, std::to_string(table.rows()));
  if (!rows)
    return {};
  bool isPlain = table.element() == schema::DType::U64;
  return TensorMapAttr::getChecked(
      [&] { return bad(""); }, context, int64_t(table.buffer()), rows, int64_t(table.row_bytes()),
      int64_t(table.box_rows()), int64_t(table.box_bytes()),
      isPlain ? Type() : typeFor(context, ElementType(table.element())), int64_t(table.swizzle()),
      table.fenced());
}

LogicalResult EngineUnitReader::readEpilogue(KernelOp kernel, const schema::Kernel &table) {
  constexpr size_t maximumText = 1 << 20;
  StringRef text = textOf(table.epilogue());
  if (text.empty())
    return success();
  // Scalar regions hold one block; anything nested deeper is none of this compiler's.
  if (text.size() > maximumText || text.count('{') > 16 || text.count('<') > 64)
    return bad("kernel '" + textOf(table.name()) + "' has a malformed epilogue");
  auto parsed = parseSourceString<ModuleOp>((epiloguePrefix + text).str(),
                                            ParserConfig(builder.getContext()));
  if (!parsed || parsed->getOps<KernelOp>().empty())
    return bad("kernel '" + textOf(table.name()) + "' has a malformed epilogue");
  KernelOp bare = *parsed->getOps<KernelOp>().begin();
  kernel.getEpilogue().takeBody(bare.getEpilogue());
  return success();
}

LogicalResult EngineUnitReader::read(const schema::ArenaTier &table) {
  FailureOr<ArrayAttr> limits = rangeList(table.limits());
  if (failed(limits))
    return failure();
  SmallVector<int64_t> offsets;
  for (uint32_t i = 0; i < countOf(table.offsets()); ++i)
    offsets.push_back(int64_t(table.offsets()->Get(i)));
  ArenaTierOp::create(builder, location, *limits, number(int64_t(table.bytes())),
                      builder.getDenseI64ArrayAttr(offsets));
  return success();
}

//===- Programs -----------------------------------------------------------------------------===//

LogicalResult EngineUnitReader::read(StringAttr site, const schema::Launch &table) {
  SmallVector<Attribute> variants;
  for (uint32_t i = 0; i < countOf(table.variants()); ++i) {
    const schema::Variant &variant = *table.variants()->Get(i);
    FlatSymbolRefAttr kernel = named(kernels, variant.kernel(), "kernel");
    FailureOr<SmallVector<RangeAttr>> where = ranges(variant.ranges());
    FailureOr<SmallVector<ExprAttr>> grid = expressions(variant.grid());
    if (!kernel || failed(where) || failed(grid))
      return failure();
    variants.push_back(VariantAttr::get(builder.getContext(), kernel, *where, *grid));
  }
  FailureOr<ArrayAttr> arguments = args(table.args());
  if (failed(arguments))
    return failure();
  LaunchOp::create(builder, location, site, builder.getArrayAttr(variants), *arguments);
  return success();
}

LogicalResult EngineUnitReader::read(StringAttr site, const schema::Copy &table) {
  FlatSymbolRefAttr source = named(buffers, table.source(), "buffer"),
                    destination = named(buffers, table.destination(), "buffer");
  ExprAttr sourceOffset = expression(table.source_offset()),
           destinationOffset = expression(table.destination_offset()),
           bytes = expression(table.bytes());
  if (!source || !destination || !sourceOffset || !destinationOffset || !bytes)
    return failure();
  MLIRContext *context = builder.getContext();
  CopyOp::create(builder, location, site, BufferArgAttr::get(context, source, sourceOffset),
                 BufferArgAttr::get(context, destination, destinationOffset), bytes);
  return success();
}

LogicalResult EngineUnitReader::read(StringAttr site, const schema::Collective &table) {
  std::optional<StringRef> kind = wordOf(table.kind());
  Type element = elementOf(builder.getContext(), table.dtype());
  if (!kind || !element)
    return bad("collective '" + site.getValue() + "' is of an unknown kind or element type");
  FlatSymbolRefAttr source = named(buffers, table.source(), "buffer"),
                    destination = named(buffers, table.destination(), "buffer"),
                    group = named(rankGroups, table.group(), "rank group");
  FailureOr<FlatSymbolRefAttr> counts = optionallyNamed(buffers, table.counts(), "buffer"),
                               receiveCounts =
                                   optionallyNamed(buffers, table.receive_counts(), "buffer");
  ExprAttr count = expression(table.count());
  if (!source || !destination || !group || failed(counts) || failed(receiveCounts) || !count)
    return failure();
  CollectiveOp::create(builder, location, site, builder.getStringAttr(*kind),
                       TypeAttr::get(element), source, destination, count, group, *counts,
                       *receiveCounts, number(table.peer()));
  return success();
}

LogicalResult EngineUnitReader::read(const schema::Instruction &table) {
  StringAttr site = builder.getStringAttr(textOf(table.name()));
  switch (table.operation_type()) {
  case schema::Operation::Launch:
    return read(site, *table.operation_as_Launch());
  case schema::Operation::Copy:
    return read(site, *table.operation_as_Copy());
  case schema::Operation::Collective:
    return read(site, *table.operation_as_Collective());
  case schema::Operation::HostCall: {
    const schema::HostCall &call = *table.operation_as_HostCall();
    FailureOr<ArrayAttr> arguments = args(call.args());
    if (failed(arguments))
      return failure();
    HostCallOp::create(builder, location, site, builder.getStringAttr(textOf(call.function())),
                       *arguments);
    return success();
  }
  default:
    return bad("instruction '" + textOf(table.name()) + "' is of an unknown kind");
  }
}

LogicalResult EngineUnitReader::read(const schema::Program &table) {
  FailureOr<ArrayAttr> usedDims = listed(dims, table.dims(), "dim"),
                       inputs = listed(buffers, table.inputs(), "buffer"),
                       outputs = listed(buffers, table.outputs(), "buffer");
  if (failed(usedDims) || failed(inputs) || failed(outputs))
    return failure();
  auto program = ProgramOp::create(builder, location, builder.getStringAttr(textOf(table.name())),
                                   *usedDims, *inputs, *outputs);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
  uint32_t next = 0, instructions = countOf(table.instructions());
  for (uint32_t i = 0; i < countOf(table.segments()); ++i) {
    const schema::Segment &segment = *table.segments()->Get(i);
    FailureOr<FlatSymbolRefAttr> tap = optionallyNamed(buffers, segment.tap(), "buffer");
    if (failed(tap))
      return failure();
    if (segment.first() != next || segment.count() > instructions - next)
      return bad("segment '" + textOf(segment.name()) + "' does not follow the one before it");
    for (uint32_t end = next + segment.count(); next < end; ++next)
      if (failed(read(*table.instructions()->Get(next))))
        return failure();
    SegmentOp::create(builder, location, builder.getStringAttr(textOf(segment.name())), *tap);
  }
  for (; next < instructions; ++next)
    if (failed(read(*table.instructions()->Get(next))))
      return failure();
  return success();
}

LogicalResult EngineUnitReader::read(const schema::Coverage &table) {
  FlatSymbolRefAttr program = named(programs, table.program(), "program");
  FailureOr<ArrayAttr> over = rangeList(table.ranges());
  FailureOr<ArrayAttr> by = listed(kernels, table.kernels(), "kernel");
  if (!program || failed(over) || failed(by))
    return failure();
  CoverageOp::create(builder, location, program, number(table.instruction()), *over, *by);
  return success();
}

//===- The unit -----------------------------------------------------------------------------===//

template <class Table>
static void collectNames(MLIRContext *context, NameList &names, const TableVector<Table> *tables) {
  names.clear();
  for (uint32_t i = 0; i < countOf(tables); ++i)
    names.push_back(FlatSymbolRefAttr::get(context, textOf(tables->Get(i)->name())));
}

LogicalResult EngineUnitReader::read(const schema::Target &target) {
  MLIRContext *context = builder.getContext();
  collectNames(context, buffers, target.buffers());
  collectNames(context, groups, target.kv_groups());
  collectNames(context, libraries, target.libraries());
  collectNames(context, kernels, target.kernels());
  collectNames(context, programs, target.programs());
  rankGroups.clear();
  for (uint32_t i = 0; i < countOf(target.rank_groups()); ++i) {
    const flatbuffers::String *name = target.rank_groups()->Get(i)->name();
    rankGroups.push_back(
        FlatSymbolRefAttr::get(context, name ? textOf(name) : "ranks_" + std::to_string(i)));
  }
  SmallVector<StringAttr> features;
  for (uint32_t i = 0; i < countOf(target.features()); ++i)
    features.push_back(builder.getStringAttr(textOf(target.features()->Get(i))));
  auto attribute = TargetAttr::get(context, textOf(target.name()), textOf(target.backend()),
                                   textOf(target.arch()), features, target.preference());
  StringRef unitName = target.unit() ? textOf(target.unit()) : textOf(target.name());
  auto optional = [&](const flatbuffers::String *text) {
    return text ? builder.getStringAttr(textOf(text)) : StringAttr();
  };
  auto unit = UnitOp::create(builder, location, builder.getStringAttr(unitName), attribute,
                             number(target.rank()), number(target.ranks()),
                             optional(target.toolkit()), optional(target.minimum_driver()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&unit.getBody().emplaceBlock());
  return readBody(target);
}

LogicalResult EngineUnitReader::readBody(const schema::Target &target) {
  for (uint32_t i = 0; i < countOf(target.rank_groups()); ++i) {
    const auto *ranks = target.rank_groups()->Get(i)->ranks();
    SmallVector<int64_t> list;
    for (uint32_t j = 0; j < countOf(ranks); ++j)
      list.push_back(ranks->Get(j));
    RankGroupOp::create(builder, location, rankGroups[i].getAttr(),
                        builder.getDenseI64ArrayAttr(list));
  }
  auto readAll = [&](const auto *tables) -> LogicalResult {
    for (uint32_t i = 0; i < countOf(tables); ++i)
      if (failed(read(*tables->Get(i))))
        return failure();
    return success();
  };
  if (failed(readAll(target.kv_groups())) || failed(readAll(target.buffers())) ||
      failed(readAll(target.libraries())) || failed(readAll(target.kernels())) ||
      failed(readAll(target.memory()->tiers())) || failed(readAll(target.programs())) ||
      failed(readAll(target.coverage())))
    return failure();
  for (uint32_t i = 0; i < countOf(target.notes()); ++i) {
    const schema::Note &note = *target.notes()->Get(i);
    NoteOp::create(builder, location, textOf(note.pass()), textOf(note.site()), note.applied(),
                   textOf(note.reason()));
  }
  return success();
}
