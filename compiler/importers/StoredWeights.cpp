// SPDX-License-Identifier: Apache-2.0
// Which reader takes a matrix, what all readers need, and the one of ggml's blocks.
#include "compiler/importers/StoredWeights.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::QuantizationConfig;
using checkpoint::Tensor;
using Method = QuantizationConfig::Method;

namespace {

/// Parts of a module that hold the packed values of its matrix.
constexpr StringLiteral kPackedValues[] = {".qweight", ".weight_packed", ".weight_blocks",
                                           "._weight_qdata", "_blocks"};

StringRef moduleOf(StringRef name) {
  name.consume_back(".weight");
  return name;
}

/// ggml's types that matrices may have, by name.
std::string readableTypes() {
  std::string names;
  for (DType type : checkpoint::ggmlTypes())
    if (checkpoint::canDecodeGgml(type))
      names += message(names.empty() ? "" : ", ", dtypeName(type));
  return names;
}

} // namespace

std::string compiler::matrixName(StringRef stored) {
  for (StringRef part : kPackedValues)
    if (stored.ends_with(part))
      return (stored.drop_back(part.size()) + (part.starts_with(".") ? ".weight" : "")).str();
  return stored.str();
}

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

bool StoredWeights::isQuantized(StringRef name) const {
  std::string module = moduleOf(name).str();
  for (StringRef part : kPackedValues)
    if (checkpoint.find(module + part.str()))
      return true;
  const Tensor *weight = checkpoint.find(module + ".weight");
  if (weight && checkpoint::isBlockType(weight->dtype))
    return true;
  return weight && !plainType(builder, weight->dtype) &&
         checkpoint.quantization().method != Method::None;
}

/// What tells that a reader takes a matrix.
struct StoredWeights::Signature {
  FormatReader format;
  Expected<EncodedWeight> (StoredWeights::*read)(Shape);
  const char *part;                ///< that the module has
  std::optional<DType> type = {};  ///< of its elements
  const char *beside = "";         ///< another part
  std::optional<Method> only = {}; ///< of the checkpoint, with this packing if it states one
};

/// The first that fits decides.
const StoredWeights::Signature StoredWeights::signatures[] = {
    {FormatReader::AwqByRows, &StoredWeights::awqByRows, ".qweight", {}, "", Method::Awq},
    {FormatReader::AwqFast, &StoredWeights::awqFast, ".qweight", {}, "", Method::Awq},
    {FormatReader::AwqByColumns, &StoredWeights::awq, ".qweight", {}, "", Method::Awq},
    {FormatReader::Gptq, &StoredWeights::gptq, ".qweight"},
    {FormatReader::NvFp4, &StoredWeights::nvfp4, ".weight_packed", DType::U8,
     ".weight_global_scale"},
    {FormatReader::MxFp4, &StoredWeights::mxfp4, ".weight_packed", DType::U8},
    {FormatReader::PackedIntegers, &StoredWeights::packedIntegers, ".weight_packed"},
    {FormatReader::NvFp4, &StoredWeights::nvfp4, ".weight_scale_2"},
    {FormatReader::MxFp4, &StoredWeights::mxfp4, ".weight_blocks"},
    {FormatReader::MxFp4, &StoredWeights::mxfp4, "_blocks"},
    {FormatReader::TorchAoInt4, &StoredWeights::torchAoInt4, "._weight_qdata"},
    {FormatReader::BitsAndBytes4, &StoredWeights::bitsAndBytes4, ".weight.absmax"},
    {FormatReader::NibblesOfRows, &StoredWeights::nibblesOfRows, ".weight", DType::U8, "",
     Method::ModelOpt},
    {FormatReader::BitsAndBytes8, &StoredWeights::integers, ".weight", DType::I8, ".SCB"},
    {FormatReader::Integers, &StoredWeights::integers, ".weight", DType::I8},
    {FormatReader::MxFp8, &StoredWeights::mxfp8, ".weight_scale", DType::U8},
    {FormatReader::Float8, &StoredWeights::float8, ".weight", DType::F8E4M3},
};

bool StoredWeights::fits(const Signature &signature) const {
  const QuantizationConfig &config = checkpoint.quantization();
  const Tensor *tensor = checkpoint.find(module + signature.part);
  bool stated = config.packing == FormatReader::None || config.packing == signature.format;
  return tensor && (!signature.type || tensor->dtype == *signature.type) &&
         (!*signature.beside || checkpoint.find(module + signature.beside)) &&
         (!signature.only || (config.method == *signature.only && stated));
}

checkpoint::Expected<Value> StoredWeights::matrix(StringRef name, ArrayRef<int64_t> shape) {
  module = moduleOf(name).str();
  order.clear();
  location = atSite(builder.getContext(), name);
  auto weight = [&]() -> Expected<EncodedWeight> {
    if (const Tensor *tensor = checkpoint.find(module + ".weight");
        tensor && checkpoint::isBlockType(tensor->dtype))
      return ggmlBlocks(shape);
    const auto *found = llvm::find_if(signatures, [&](const Signature &s) { return fits(s); });
    if (found == std::end(signatures))
      return unsupported("this way of storing it",
                         "supported: AWQ and GPTQ words, packed and plain "
                         "integers, FP8, NF4, FP4, NVFP4, MXFP4, MXFP8, TorchAO's Int4Tensor");
    reader = found->format;
    return (this->*found->read)(shape);
  }();
  if (!weight)
    return weight.error();
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  return Value(llm::DequantizeOp::create(builder, *location, type, *weight));
}

/// Blocks along K, taken apart.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::ggmlBlocks(Shape shape) {
  auto found = part(".weight");
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  const checkpoint::GgmlEncoding *encoding = checkpoint::ggmlEncoding(tensor.dtype);
  if (!encoding)
    return Error{"INGOT-E1081",
                 message("tensor ", checkpoint.shownName(tensor.name), " holds ",
                         dtypeName(tensor.dtype), " blocks"),
                 checkpoint.fileName(tensor),
                 "supported: " + readableTypes() + "; convert the model to one of them"};
  if (auto fits = expectShape(checkpoint, tensor, shape); !fits)
    return fits.error();
  checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(tensor.dtype);
  int64_t rows = shape[0], columns = shape[1], bytes = unit.bits / 8;
  const HeldFormat &held = encoding->held;
  int64_t blocks = columns / unit.elements;
  auto at = atSite(builder.getContext(), tensor.name);
  Value stored = llm::WeightOp::create(
      builder, at, RankedTensorType::get({rows, blocks * bytes}, integer(8)), tensor.name,
      checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset));
  auto take = [&](StringRef name, Type element, int64_t width) -> Value {
    return llm::BlockPartOp::create(builder, *location,
                                    RankedTensorType::get({rows, width}, element), stored, name,
                                    dtypeName(tensor.dtype), bytes);
  };
  auto element = [&](ElementType type) { return engine::typeFor(builder.getContext(), type); };
  EncodedWeight weight;
  int64_t groups = held.encoding.groupsOf(columns);
  int64_t supers = held.encoding.superShape(rows, columns).columns;
  weight.values = take("values", element(held.encoding.element()), columns);
  weight.scales = take("scales", element(held.scaleElement()), groups);
  if (held.encoding.hasOffsets())
    weight.zeros = take("offsets", element(held.zeroElement()), groups);
  if (held.encoding.hasCodeBook())
    weight.zeros =
        codeBook(dtypeName(tensor.dtype), {encoding->codeBook.data(), encoding->codeBook.size()});
  if (supers)
    weight.supers = take("supers", element(held.scale), supers);
  if (!encoding->scaleTable.empty())
    weight.supers = codeBook(message(dtypeName(tensor.dtype), ".scales"),
                             {encoding->scaleTable.data(), encoding->scaleTable.size()});
  weight.encoding =
      encodingOf(builder.getContext(), held, groups == 1 && !supers ? 0 : held.encoding.group);
  return weight;
}

//===- Parts --------------------------------------------------------------------------------===//

/// `fieldBits`: what the words hold along the inputs, padding included. `groups`: scales of a row.
checkpoint::Expected<StoredWeights::Fields> StoredWeights::fieldsOf(Shape shape,
                                                                    const Tensor &words,
                                                                    uint64_t fieldBits,
                                                                    uint64_t groups) const {
  const QuantizationConfig &config = checkpoint.quantization();
  int64_t columns = shape[1];
  Fields fields;
  fields.bits = 0;
  for (const checkpoint::StoredFormat &format : checkpoint::storedFormats())
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

checkpoint::Expected<llm::EncodingAttr> StoredWeights::encoding(int64_t bits, int64_t group,
                                                                bool zeroPoints) const {
  const checkpoint::StoredFormat *format =
      checkpoint::findFormat(reader, static_cast<uint32_t>(bits), zeroPoints);
  if (!format)
    return unsupported(message(bits, " bits", zeroPoints ? " with zero points" : ""),
                       "docs/formats.md lists what is");
  return encodingOf(builder.getContext(), format->held, group);
}

checkpoint::Expected<const Tensor *> StoredWeights::part(StringRef part) const {
  return checkpoint.get(module + part.str());
}

checkpoint::Expected<Value> StoredWeights::read(StringRef name, Type element, Shape shape,
                                                std::optional<Shape> stored) {
  auto found = part(name);
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  if (auto fits = expectShape(checkpoint, tensor, stored.value_or(shape)); !fits)
    return fits.error();
  if (elementType(builder, tensor.dtype) != element)
    return Error{"INGOT-E1081",
                 message("tensor ", tensor.name, " holds ", dtypeName(tensor.dtype),
                         " elements, which its format does not have"),
                 checkpoint.fileName(tensor), "check config.json against the weights"};
  return Value(llm::WeightOp::create(
      builder, atSite(builder.getContext(), tensor.name), RankedTensorType::get(shape, element),
      tensor.name, checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset)));
}

checkpoint::Expected<Value> StoredWeights::readScales(StringRef name, Shape shape,
                                                      bool transposed) {
  auto found = part(name);
  if (!found)
    return found.error();
  DType type = (*found)->dtype;
  Type element = plainType(builder, type);
  if (!element)
    return Error{"INGOT-E1081",
                 message("scales ", (*found)->name, " are ", dtypeName(type), " elements"),
                 checkpoint.fileName(**found), "supported: F32, F16, BF16"};
  if (!transposed) {
    // A single scale is stored with no, one or two dimensions.
    SmallVector<int64_t> stored(llvm::map_range(
        (*found)->shape, [](uint64_t extent) { return static_cast<int64_t>(extent); }));
    bool single = llvm::all_of(stored, [](int64_t extent) { return extent == 1; }) &&
                  shape[0] == 1 && shape[1] == 1;
    return read(name, element, shape, single ? Shape(stored) : shape);
  }
  auto value = read(name, element, {shape[1], shape[0]});
  return value ? Expected<Value>(transpose(*value)) : value;
}

Value StoredWeights::transpose(Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  return llm::TransposeOp::create(builder, *location,
                                  type.clone({type.getDimSize(1), type.getDimSize(0)}), input);
}

Value StoredWeights::repeatRows(Value input, int64_t count, int64_t rows) {
  auto type = cast<RankedTensorType>(input.getType());
  return llm::RepeatRowsOp::create(builder, *location, type.clone({rows, type.getDimSize(1)}),
                                   input, count);
}

Value StoredWeights::unpack(Value input, int64_t columns, Type element, int64_t bits,
                            int64_t increment, int64_t bias, Shape order) {
  int64_t rows = cast<RankedTensorType>(input.getType()).getDimSize(0);
  return llm::UnpackOp::create(builder, *location, RankedTensorType::get({rows, columns}, element),
                               input, bits, increment, bias, order);
}

Error StoredWeights::unsupported(const std::string &what, const std::string &fix) const {
  const Tensor *tensor = checkpoint.find(module + ".weight");
  for (StringRef part : kPackedValues)
    tensor = tensor ? tensor : checkpoint.find(module + part.str());
  return {"INGOT-E1054", message("matrix ", inQuotes(module), ": ", what, " is not supported"),
          tensor ? checkpoint.fileName(*tensor) : "", fix};
}
