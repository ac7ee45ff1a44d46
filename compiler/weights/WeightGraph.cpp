// SPDX-License-Identifier: Apache-2.0
// Reads @weights functions. A node's key spells out what it computes; equal keys are one node.
#include "compiler/weights/WeightGraph.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "dialects/llm/LlmWeightOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"

#include <unordered_map>

using namespace mlir;

namespace ingot::compiler {

using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::Outcome;

/// What elements of a tensor are read as.
static std::optional<ElementType> elementOf(checkpoint::DType type) {
  return checkpoint::isBlockType(type) ? kI8 : checkpoint::readAs(type);
}

static std::string printed(auto printable) {
  std::string text;
  llvm::raw_string_ostream(text) << printable;
  return text;
}

static Error unsupported(Operation *op, std::string what) {
  return {"INGOT-E3101", message("in @weights, ", op->getName().getStringRef().str(), " ", what),
          printed(op->getLoc()), "report this as an error of Ingot"};
}

/// Builds a graph, function by function.
class WeightGraphReader {
public:
  explicit WeightGraphReader(const checkpoint::Checkpoint &checkpoint) : checkpoint(checkpoint) {}

  Outcome read(uint32_t index, func::FuncOp function);
  WeightGraph take() { return std::move(graph); }

private:
  Outcome readOp(uint32_t function, Operation &op);
  Outcome readStore(uint32_t function, llm::StoreWeightOp op);
  Outcome readPack(llm::PackOp op);
  Outcome readNode(Operation &op);
  Outcome readSource(llm::WeightOp op, WeightNode &node);
  Outcome readLiteral(llm::LiteralOp op, WeightNode &node);
  Outcome readKind(Operation &op, WeightNode &node);
  Outcome readBlockPart(llm::BlockPartOp op, WeightNode &node);
  void findPadding(WeightNode &node) const;
  static std::string keyOf(const WeightNode &node);

  const checkpoint::Checkpoint &checkpoint;
  WeightGraph graph;
  llvm::DenseMap<Value, WeightValue> values;
  llvm::DenseMap<Value, std::vector<engine::LayoutAttr::Digit>> layouts; ///< of packed values
  std::unordered_map<std::string, uint32_t> known;                       ///< by key
};

Outcome WeightGraphReader::read(uint32_t index, func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return unsupported(function, "must have exactly one block");
  for (Operation &op : function.getBody().front())
    if (auto done = readOp(index, op); !done)
      return done;
  return {};
}

Outcome WeightGraphReader::readOp(uint32_t function, Operation &op) {
  if (auto store = dyn_cast<llm::StoreWeightOp>(op))
    return readStore(function, store);
  if (auto pack = dyn_cast<llm::PackOp>(op))
    return readPack(pack);
  if (op.hasTrait<OpTrait::IsTerminator>())
    return {};
  return readNode(op);
}

Outcome WeightGraphReader::readStore(uint32_t function, llm::StoreWeightOp op) {
  auto value = values.find(op.getValue());
  if (value == values.end())
    return unsupported(op, "stores a value that is not made in its function");
  StoredWeight stored;
  stored.name = op.getName().str();
  stored.format = op.getFormat().value_or("").str();
  stored.function = function;
  stored.type = cast<RankedTensorType>(op.getValue().getType());
  stored.value = value->second;
  if (auto layout = layouts.find(op.getValue()); layout != layouts.end()) {
    stored.digits = layout->second;
  } else {
    const WeightShape &shape = graph.shape(stored.value);
    stored.digits = {{0, 1, shape.rows}, {1, 1, shape.columns}};
  }
  graph.allStores.push_back(std::move(stored));
  return {};
}

Outcome WeightGraphReader::readPack(llm::PackOp op) {
  if (layouts.contains(op.getInput()))
    return unsupported(op, "packs a packed weight again");
  auto value = values.find(op.getInput());
  if (value == values.end())
    return unsupported(op, "packs a value that is not made in its function");
  WeightValue packed = value->second;
  auto layout = cast<engine::LayoutAttr>(cast<RankedTensorType>(op.getType()).getEncoding());
  values[op.getResult()] = packed;
  auto digits = layout.digitList();
  layouts[op.getResult()].assign(digits.begin(), digits.end());
  return {};
}

Outcome WeightGraphReader::readNode(Operation &op) {
  WeightNode node;
  for (Value operand : op.getOperands()) {
    auto value = values.find(operand);
    if (value == values.end() || layouts.contains(operand))
      return unsupported(&op, "uses a value that is packed or not made in its function");
    node.operands.push_back(value->second);
  }
  for (Value result : op.getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    auto element = engine::findElementType(type.getElementType());
    if (!element || type.getRank() < 1 || type.getRank() > 2 || type.getNumElements() < 1)
      return unsupported(&op, message("makes a ", printed(type), ", which no engine stores"));
    node.results.push_back({type.getShape().front(), llm::columnsOf(result), *element});
  }
  if (auto read = readKind(op, node); !read)
    return read;
  findPadding(node);
  auto [entry, isNew] =
      known.try_emplace(keyOf(node), static_cast<uint32_t>(graph.allNodes.size()));
  if (isNew)
    graph.allNodes.push_back(std::move(node));
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    values[result] = {entry->second, static_cast<uint32_t>(index)};
  return {};
}

Outcome WeightGraphReader::readKind(Operation &op, WeightNode &node) {
  auto floats = [&](bool resultToo) {
    bool all = llvm::all_of(node.operands,
                            [&](WeightValue value) { return isFloat(graph.shape(value).element); });
    return all && (!resultToo || isFloat(node.results[0].element));
  };
  auto matrices = [&] { return cast<RankedTensorType>(op.getOperand(0).getType()).getRank() == 2; };
  Error notFloat = unsupported(&op, "works on floats only");
  Error notMatrix = unsupported(&op, "works on two-dimensional weights only");
  return llvm::TypeSwitch<Operation *, Outcome>(&op)
      .Case([&](llm::WeightOp source) { return readSource(source, node); })
      .Case([&](llm::LiteralOp literal) { return readLiteral(literal, node); })
      .Case([&](llm::ConvertOp convert) {
        node.kind = NodeKind::Convert;
        node.plus = convert.getPlus().convertToFloat();
        return floats(true) ? Outcome() : notFloat;
      })
      .Case([&](llm::QuantizeOp quantize) {
        node.kind = NodeKind::Quantize;
        node.encoding = quantize.getEncoding().facts();
        if (!floats(false) || !isFloat(node.results[1].element))
          return Outcome(notFloat);
        return matrices() ? Outcome() : notMatrix;
      })
      .Case([&](llm::DequantizeOp dequantize) {
        node.kind = NodeKind::Dequantize;
        node.encoding = dequantize.getEncoding().facts();
        if (node.results[0].element != kF32)
          return Outcome(unsupported(&op, "makes f32 only"));
        return matrices() ? Outcome() : notMatrix;
      })
      .Case([&](llm::UnpackOp unpack) {
        node.kind = NodeKind::Unpack;
        node.fields = {static_cast<int64_t>(unpack.getBits()),
                       static_cast<uint32_t>(unpack.getIncrement()),
                       static_cast<uint32_t>(unpack.getBias()),
                       {unpack.getOrder().begin(), unpack.getOrder().end()}};
        return Outcome();
      })
      .Case([&](llm::BlockPartOp part) { return readBlockPart(part, node); })
      .Case([&](llm::TransposeOp) {
        node.kind = NodeKind::Transpose;
        return Outcome();
      })
      .Case([&](llm::ReshapeOp) {
        node.kind = NodeKind::Reshape;
        return Outcome();
      })
      .Case([&](llm::AddLowRankOp add) {
        node.kind = NodeKind::AddLowRank;
        node.scale = add.getScale().convertToFloat();
        return floats(true) ? Outcome() : notFloat;
      })
      .Case([&](llm::RepeatRowsOp repeat) {
        node.kind = NodeKind::RepeatRows;
        node.block = static_cast<int64_t>(repeat.getCount());
        return Outcome();
      })
      .Case([&](llm::SliceRowsOp slice) {
        node.kind = NodeKind::SliceRows;
        node.first = static_cast<int64_t>(slice.getFirst());
        return Outcome();
      })
      .Case([&](llm::ConcatRowsOp) {
        node.kind = NodeKind::ConcatRows;
        return Outcome();
      })
      .Case([&](llm::InterleaveRowsOp interleave) {
        node.kind = NodeKind::InterleaveRows;
        node.block = static_cast<int64_t>(interleave.getBlock());
        return Outcome();
      })
      .Case([&](llm::PermuteRowsOp permute) {
        node.kind = NodeKind::PermuteRows;
        llvm::append_range(node.digits, permute.getDigits());
        llvm::append_range(node.order, permute.getOrder());
        return Outcome();
      })
      .Case([&](llm::ScaleColumnsOp) {
        node.kind = NodeKind::ScaleColumns;
        if (!floats(true))
          return Outcome(notFloat);
        return matrices() ? Outcome() : notMatrix;
      })
      .Default([&](Operation *other) { return unsupported(other, "cannot be streamed"); });
}

Outcome WeightGraphReader::readSource(llm::WeightOp op, WeightNode &node) {
  node.kind = NodeKind::Source;
  node.name = op.getName().str();
  node.file = op.getFile().str();
  auto tensor = checkpoint.get(node.name);
  if (!tensor)
    return tensor.error();
  node.tensor = *tensor;
  auto type = cast<RankedTensorType>(op.getType());
  auto element = elementOf(node.tensor->dtype);
  // Row-major elements may be read in another shape, and any of one byte as their codes.
  const WeightShape &shape = node.results[0];
  if (element && workingBytes(*element) == 1 && shape.element == kI8)
    element = kI8;
  bool sameSize = static_cast<uint64_t>(shape.rows * shape.rowBytes()) == node.tensor->bytes;
  if (element == node.results[0].element && sameSize && op.getOffset() == node.tensor->offset)
    return {};
  return Error{"INGOT-E3102",
               message("@weights reads ", inQuotes(node.name), " as ", printed(type), " at byte ",
                       op.getOffset(), ", but the checkpoint stores it otherwise"),
               printed(op.getLoc()), "give the checkpoint that this module was imported from"};
}

Outcome WeightGraphReader::readLiteral(llm::LiteralOp op, WeightNode &node) {
  node.kind = NodeKind::Literal;
  node.name = op.getName().str();
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  ElementType element = node.results[0].element;
  if (!dense || elementBits(element) < 8)
    return unsupported(op, "needs a dense value of whole bytes");
  ArrayRef<char> raw = dense.getRawData();
  size_t bytes =
      static_cast<size_t>(dense.getNumElements()) * static_cast<size_t>(workingBytes(element));
  node.literal.resize(bytes);
  if (!dense.isSplat() && raw.size() != bytes)
    return unsupported(op, "has a value of another size than its type");
  for (size_t i = 0; i < bytes; ++i)
    node.literal[i] = static_cast<std::byte>(raw[i % raw.size()]);
  return {};
}

/// The element type of a part of a block of `elements`, and how many it has; 0: there is no such
/// part.
static std::pair<ElementType, int64_t> partOf(const HeldFormat &held, BlockPart::Part part,
                                              int64_t elements) {
  const Encoding &encoding = held.encoding;
  switch (part) {
  case BlockPart::Part::Values:
    return {encoding.element(), elements};
  case BlockPart::Part::Scales:
    return {held.scaleElement(), encoding.groupsOf(elements)};
  case BlockPart::Part::Offsets:
    return {held.scaleElement(), encoding.hasOffsets() ? encoding.groupsOf(elements) : 0};
  case BlockPart::Part::SuperScales:
    return {held.scale, encoding.superShape(1, elements).columns};
  }
  llvm_unreachable("every part is listed");
}

/// The type must be one that blocks are taken apart of, and the result have what its part has.
Outcome WeightGraphReader::readBlockPart(llm::BlockPartOp op, WeightNode &node) {
  node.kind = NodeKind::BlockPart;
  auto type = checkpoint::blockTypeFromName(op.getFormat().str());
  const checkpoint::GgmlEncoding *encoding = type ? checkpoint::ggmlEncoding(*type) : nullptr;
  if (!encoding)
    return unsupported(op, "takes no blocks apart of the type it names");
  checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(*type);
  using Part = BlockPart::Part;
  static constexpr std::pair<llvm::StringLiteral, Part> parts[] = {
      {"values", Part::Values},
      {"scales", Part::Scales},
      {"offsets", Part::Offsets},
      {"super_scales", Part::SuperScales}};
  for (auto [name, part] : parts)
    if (op.getPart() == name)
      node.part.part = part;
  node.part.type = *type;
  node.part.bytes = unit.bits / 8;
  const HeldFormat &held = encoding->held;
  auto [element, each] = partOf(held, node.part.part, unit.elements);
  node.part.elements = each;
  const WeightShape &input = graph.shape(node.operands[0]), &result = node.results[0];
  bool fits = result.element == element && op.getBlock() == unit.bits / 8 && each > 0 &&
              input.columns / node.part.bytes * each == result.columns;
  return fits ? Outcome() : unsupported(op, "has another result than its blocks");
}

/// Symmetric int4 stores zero as 8; operations that only move elements keep that.
void WeightGraphReader::findPadding(WeightNode &node) const {
  if (node.kind == NodeKind::Quantize)
    node.padding = static_cast<uint8_t>(node.encoding.zeroPoints ? 0 : node.encoding.middle());
  if (node.kind == NodeKind::ConcatRows || node.kind == NodeKind::InterleaveRows ||
      node.kind == NodeKind::PermuteRows) {
    WeightValue first = node.operands.front();
    node.padding = first.result == 0 ? graph.node(first).padding : 0;
  }
}

std::string WeightGraphReader::keyOf(const WeightNode &node) {
  std::string key;
  auto add = [&](auto... numbers) { ((key += std::to_string(numbers) + " "), ...); };
  add(static_cast<int>(node.kind), static_cast<int>(node.encoding.kind),
      static_cast<int>(node.encoding.scales), node.encoding.zeroPoints, node.encoding.group,
      node.block, node.first, node.fields.bits, node.fields.increment, node.fields.bias,
      static_cast<int>(node.part.type), static_cast<int>(node.part.part),
      llvm::bit_cast<uint32_t>(node.plus), llvm::bit_cast<uint32_t>(node.scale));
  for (int64_t place : node.fields.order)
    add(place);
  for (int64_t digit : node.digits)
    add(digit);
  for (int64_t digit : node.order)
    add(digit);
  for (const WeightShape &shape : node.results)
    add(shape.rows, shape.columns, static_cast<int>(shape.element));
  key += "of ";
  for (WeightValue operand : node.operands)
    add(operand.node, operand.result);
  if (node.tensor)
    key += node.tensor->name;
  key.append(reinterpret_cast<const char *>(node.literal.data()), node.literal.size());
  return key;
}

Expected<WeightGraph> WeightGraph::read(ArrayRef<func::FuncOp> functions,
                                        const checkpoint::Checkpoint &checkpoint) {
  WeightGraphReader reader(checkpoint);
  for (auto [index, function] : llvm::enumerate(functions))
    if (auto read = reader.read(static_cast<uint32_t>(index), function); !read)
      return read.error();
  return reader.take();
}

} // namespace ingot::compiler
