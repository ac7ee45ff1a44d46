// SPDX-License-Identifier: Apache-2.0
// What all readers need.
#include "compiler/importers/StoredMatrix.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/checkpoint/quantized/methods/Methods.h"
#include "compiler/importers/PackedValues.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "llvm/ADT/StringExtras.h"

#include <span>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::QuantizationConfig;
using checkpoint::Tensor;
using llm::EncodedWeight;

Type compiler::elementType(OpBuilder &builder, DType type) {
  std::optional<ElementType> element = checkpoint::readAs(type);
  return element ? engine::typeFor(builder.getContext(), *element) : Type();
}

Type compiler::plainType(OpBuilder &builder, DType type) {
  Type element = elementType(builder, type);
  return element && element.getIntOrFloatBitWidth() > 8 && isa<FloatType>(element) ? element
                                                                                   : Type();
}

llm::EncodingAttr compiler::encodingOf(MLIRContext *context, const HeldFormat &held,
                                       int64_t group) {
  Encoding encoding = held.encoding;
  encoding.group = group;
  return llm::EncodingAttr::get(context, encoding);
}

/// What config.json says of a tensor's extents, by the end of its module's name; empty where that
/// is not one thing.
static std::string keysOfShape(StringRef name) {
  static constexpr std::pair<StringLiteral, StringLiteral> rows[] = {
      {"embed_tokens.weight", "vocab_size, hidden_size"},
      {"lm_head.weight", "vocab_size, hidden_size"},
      {"q_proj.weight", "num_attention_heads * head_dim, hidden_size"},
      {"k_proj.weight", "num_key_value_heads * head_dim, hidden_size"},
      {"v_proj.weight", "num_key_value_heads * head_dim, hidden_size"},
      {"o_proj.weight", "hidden_size, num_attention_heads * head_dim"},
      {"mlp.gate_proj.weight", "intermediate_size, hidden_size"},
      {"mlp.up_proj.weight", "intermediate_size, hidden_size"},
      {"mlp.down_proj.weight", "hidden_size, intermediate_size"},
      {"layernorm.weight", "hidden_size"},
      {"q_norm.weight", "head_dim"},
      {"k_norm.weight", "head_dim"},
      {"gate.weight", "the number of experts, hidden_size"},
      {"weight_scale_inv", "weight_block_size of quantization_config"}};
  for (const auto &[end, keys] : rows)
    if (name.ends_with(end))
      return keys.str();
  return "";
}

checkpoint::Outcome compiler::expectShape(const checkpoint::Checkpoint &checkpoint,
                                          const Tensor &tensor, ArrayRef<int64_t> shape) {
  if (llvm::equal(tensor.shape, shape,
                  [](uint64_t a, int64_t b) { return static_cast<int64_t>(a) == b; }))
    return {};
  auto list = [](const auto &extents) {
    auto text = [](auto extent) { return std::to_string(extent); };
    return "[" + llvm::join(llvm::map_range(extents, text), ", ") + "]";
  };
  std::string keys = keysOfShape(tensor.name);
  return Error{"INGOT-E1080",
               message("tensor ", checkpoint.shownName(tensor.name), " is ", list(tensor.shape),
                       ", and the model's configuration implies ", list(shape)),
               checkpoint.fileName(tensor),
               checkpoint.isComplete() || keys.empty()
                   ? "check config.json, or a GGUF file's metadata, against the weights"
                   : "check the weights against what config.json says: " + keys};
}

const Tensor *StoredMatrix::find(StringRef part) const {
  return checkpoint.find(module + part.str());
}

Expected<const Tensor *> StoredMatrix::part(StringRef part) const {
  return checkpoint.get(module + part.str());
}

Expected<const Tensor *> StoredMatrix::part(StringRef name, Shape shape) const {
  auto found = part(name);
  if (!found)
    return found;
  if (auto fits = expectShape(checkpoint, **found, shape); !fits)
    return fits.error();
  return found;
}

Expected<Value> StoredMatrix::read(StringRef name, Type element, Shape shape,
                                   std::optional<Shape> stored) {
  auto found = part(name, stored.value_or(shape));
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  if (elementType(builder, tensor.dtype) != element)
    return Error{"INGOT-E1081",
                 message("tensor ", tensor.name, " holds ", dtypeName(tensor.dtype),
                         " elements, which its format does not have"),
                 checkpoint.fileName(tensor), "check config.json against the weights"};
  return Value(llm::WeightOp::create(
      builder, atSite(builder.getContext(), tensor.name), RankedTensorType::get(shape, element),
      tensor.name, checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset)));
}

Expected<Value> StoredMatrix::readFloats(StringRef name, Shape shape, std::optional<Shape> stored) {
  auto found = part(name);
  if (!found)
    return found.error();
  DType type = (*found)->dtype;
  Type element = plainType(builder, type);
  if (!element)
    return Error{"INGOT-E1081",
                 message("scales ", (*found)->name, " are ", dtypeName(type), " elements"),
                 checkpoint.fileName(**found), "supported: F32, F16, BF16"};
  return read(name, element, shape, stored);
}

Expected<Value> StoredMatrix::readScales(StringRef name, Shape shape, bool transposed) {
  if (transposed) {
    auto value = readFloats(name, {shape[1], shape[0]});
    return value ? Expected<Value>(transpose(*value)) : value;
  }
  auto found = part(name);
  if (!found)
    return found.error();
  // A single scale is stored with no, one or two dimensions, those of rows with one or two.
  SmallVector<int64_t> stored(llvm::map_range(
      (*found)->shape, [](uint64_t extent) { return static_cast<int64_t>(extent); }));
  bool single = llvm::all_of(stored, [](int64_t extent) { return extent == 1; }) && shape[0] == 1 &&
                shape[1] == 1;
  bool isVector = shape[1] == 1 && Shape(stored) == shape.take_front();
  return readFloats(name, shape, single || isVector ? Shape(stored) : shape);
}

Expected<Value> StoredMatrix::readBytes(StringRef name, DType dtype, Shape shape,
                                        std::optional<Shape> stored) {
  auto found = part(name, stored.value_or(shape));
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  if (tensor.dtype != dtype)
    return Error{"INGOT-E1081",
                 message("scales ", tensor.name, " are ", dtypeName(tensor.dtype), " elements"),
                 checkpoint.fileName(tensor), "check config.json against the weights"};
  return Value(llm::WeightOp::create(
      builder, atSite(builder.getContext(), tensor.name), RankedTensorType::get(shape, integer(8)),
      tensor.name, checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset)));
}

Expected<Value> StoredMatrix::readNibbles(StringRef name, Shape stored, bool highFirst) {
  auto bytes = read(name, integer(8), {shape[0], shape[1] / 2}, stored);
  if (!bytes)
    return bytes;
  constexpr int64_t exchanged[] = {1, 0};
  return unpack(*bytes, shape[1], integer(4), kNibble, 0, 0,
                highFirst ? Shape(exchanged) : Shape());
}

Expected<SmallVector<float>> StoredMatrix::numbers(StringRef name, size_t count) const {
  auto found = part(name);
  if (!found)
    return found.error();
  SmallVector<float> values(count);
  if ((*found)->dtype != DType::F32 || (*found)->bytes != count * sizeof(float))
    return Error{"INGOT-E1081",
                 message("tensor ", (*found)->name, " is not ", count, " F32 numbers"),
                 checkpoint.fileName(**found), "download the checkpoint again"};
  if (auto done = checkpoint.read(**found, 0, std::as_writable_bytes(std::span<float>(values)));
      !done)
    return done.error();
  return values;
}

Expected<StoredMatrix::Fields> StoredMatrix::fieldsOf(const Tensor &words, uint64_t fieldBits,
                                                      uint64_t groups) const {
  const QuantizationConfig &config = checkpoint.quantization();
  int64_t columns = shape[1];
  Fields fields;
  fields.bits = 0;
  for (const checkpoint::QuantizationMethod *method : checkpoint::methods::all)
    for (const checkpoint::StoredFormat &format : method->formats)
      if (format.reader == reader && llvm::alignTo(columns * format.bits, kWordBits) == fieldBits)
        fields.bits = format.bits;
  auto wrong = [&](const std::string &what) {
    return Error{"INGOT-E1080", message("tensor ", words.name, " ", what),
                 checkpoint.fileName(words), "check config.json against the weights"};
  };
  if (fields.bits == 0)
    return wrong(
        message("does not hold as many bits as its format has for each of ", columns, " inputs"));
  if (config.bits && *config.bits != static_cast<uint64_t>(fields.bits))
    return wrong(message("holds ", fields.bits, " bits an element, not ", *config.bits));
  int64_t group = config.group ? static_cast<int64_t>(*config.group)
                  : groups > 0 ? static_cast<int64_t>(llvm::divideCeil(columns, groups))
                               : 0;
  group = group >= columns ? 0 : group;
  if (groups != static_cast<uint64_t>(group == 0 ? 1 : llvm::divideCeil(columns, group)))
    return wrong(message("has ", groups, " groups of scales, which ", columns,
                         " inputs do not divide into by ", group));
  fields.group = group;
  return fields;
}

Expected<llm::EncodingAttr> StoredMatrix::encoding(int64_t bits, int64_t group,
                                                   bool zeroPoints) const {
  const checkpoint::StoredFormat *format =
      checkpoint::findFormat(reader, static_cast<uint32_t>(bits), zeroPoints);
  if (!format)
    return unsupported(message(bits, " bits", zeroPoints ? " with zero points" : ""),
                       "docs/formats.md lists what is");
  return encodingOf(builder.getContext(), format->held, group);
}

Expected<EncodedWeight> StoredMatrix::codes(const Expected<Value> &values,
                                            const Expected<Value> &scales, Value book,
                                            int64_t group, Value table) {
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  auto held = encoding(kNibble, group == shape[1] ? 0 : group);
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, book, table, *held};
}

Value StoredMatrix::codeBook(StringRef name, ArrayRef<float> numbers) {
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, builder.getF32Type());
  return llm::LiteralOp::create(builder, location, type, (name + ".codebook").str(),
                                DenseElementsAttr::get(type, numbers));
}

Value StoredMatrix::e2m1() {
  const auto &book = checkpoint::ggmlEncoding(DType::MXFP4)->codeBook;
  return codeBook("e2m1", {book.data(), book.size()});
}

Value StoredMatrix::powersOfTwo(float factor) {
  SmallVector<float> table;
  for (float half : checkpoint::ggmlEncoding(DType::MXFP4)->scaleTable)
    table.push_back(factor * half);
  return codeBook("e8m0", table);
}

Value StoredMatrix::asF32(Value input) {
  auto type = cast<RankedTensorType>(input.getType()).clone(builder.getF32Type());
  return llm::ConvertOp::create(builder, location, type, input, builder.getF32FloatAttr(0));
}

Value StoredMatrix::reshape(Value input, Shape shape) {
  auto type = cast<RankedTensorType>(input.getType()).clone(shape);
  return llm::ReshapeOp::create(builder, location, type, input);
}

Value StoredMatrix::permuteRows(Value input, Shape digits, Shape order) {
  return llm::PermuteRowsOp::create(builder, location, input, digits, order);
}

Value StoredMatrix::sliceRows(Value input, int64_t first, int64_t count) {
  auto type = cast<RankedTensorType>(input.getType());
  return llm::SliceRowsOp::create(builder, location, type.clone({count, type.getDimSize(1)}), input,
                                  first);
}

Value StoredMatrix::transpose(Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  return llm::TransposeOp::create(builder, location,
                                  type.clone({type.getDimSize(1), type.getDimSize(0)}), input);
}

Value StoredMatrix::repeatRows(Value input, int64_t count, int64_t rows) {
  auto type = cast<RankedTensorType>(input.getType());
  return llm::RepeatRowsOp::create(builder, location, type.clone({rows, type.getDimSize(1)}), input,
                                   count);
}

Value StoredMatrix::unpack(Value input, int64_t columns, Type element, int64_t bits,
                           int64_t increment, int64_t bias, Shape order) {
  int64_t rows = cast<RankedTensorType>(input.getType()).getDimSize(0);
  return llm::UnpackOp::create(builder, location, RankedTensorType::get({rows, columns}, element),
                               input, bits, increment, bias, order);
}

Error StoredMatrix::unsupported(const std::string &what, const std::string &fix) const {
  const Tensor *tensor = checkpoint.find(module + ".weight");
  for (StringRef part : packedValues())
    tensor = tensor ? tensor : find(part);
  return {"INGOT-E1054", message("matrix ", inQuotes(module), ": ", what, " is not supported"),
          tensor ? checkpoint.fileName(*tensor) : "", fix};
}
