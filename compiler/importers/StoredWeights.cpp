// SPDX-License-Identifier: Apache-2.0
// One function per family of formats; the layouts are those that the projects' own code writes.
#include "compiler/importers/StoredWeights.h"

#include "compiler/checkpoint/GgmlBlocks.h"
#include "compiler/checkpoint/JsonFields.h"
#include "passes/FusionReport.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <limits>
#include <span>

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

/// Where output j of eight lies in AWQ's words.
constexpr int64_t kAwqOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};
constexpr int64_t kWordBits = 32;
/// Bits of int4 elements, into which narrower fields are widened.
constexpr int64_t kNibble = 4, kNibbleZero = 8;

/// Parts of a module that hold the packed values of its matrix.
constexpr StringLiteral kPackedValues[] = {".qweight", ".weight_packed", ".weight_blocks"};

StringRef moduleOf(StringRef name) {
  name.consume_back(".weight");
  return name;
}

/// Words that hold so many bits.
int64_t wordsFor(int64_t bits) { return (bits + kWordBits - 1) / kWordBits; }

/// The IR type of stored elements that an expression may begin with; null for others.
Type elementType(OpBuilder &builder, DType type) {
  if (Type plain = plainType(builder, type))
    return plain;
  switch (type) {
  case DType::F8E4M3:
    return Float8E4M3FNType::get(builder.getContext());
  case DType::I8:
  case DType::U8:
    return builder.getI8Type();
  case DType::I32:
    return builder.getI32Type();
  default:
    return {};
  }
}

} // namespace

std::string compiler::matrixName(StringRef stored) {
  for (StringRef part : kPackedValues)
    if (stored.ends_with(part))
      return (stored.drop_back(part.size()) + ".weight").str();
  return stored.str();
}

Type compiler::plainType(OpBuilder &builder, DType type) {
  switch (type) {
  case DType::F32:
    return builder.getF32Type();
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  default:
    return {};
  }
}

checkpoint::Outcome compiler::expectShape(const checkpoint::Checkpoint &checkpoint,
                                          const Tensor &tensor, ArrayRef<int64_t> shape) {
  if (llvm::equal(tensor.shape, shape,
                  [](uint64_t a, int64_t b) { return static_cast<int64_t>(a) == b; }))
    return {};
  return Error{
      "INGOT-E1080",
      message("tensor ", checkpoint.shownName(tensor.name),
              " has another shape than the model's configuration implies"),
      checkpoint.fileName(tensor),
      "check config.json, or a GGUF file's metadata, against the weights: [" +
          llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }), ", ") +
          "] is expected"};
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

checkpoint::Expected<Value> StoredWeights::matrix(StringRef name, ArrayRef<int64_t> shape) {
  module = moduleOf(name).str();
  order.clear();
  location = atSite(builder.getContext(), name);
  auto has = [&](const char *part) { return checkpoint.find(module + part) != nullptr; };
  auto parts = [&]() -> Expected<Parts> {
    if (has(".qweight"))
      return checkpoint.quantization().method == Method::Awq ? awq(shape) : gptq(shape);
    const Tensor *packed = checkpoint.find(module + ".weight_packed");
    if (packed)
      return packed->dtype != DType::U8    ? packedIntegers(shape)
             : has(".weight_global_scale") ? nvfp4(shape)
                                           : mxfp4(shape);
    if (has(".weight_scale_2"))
      return nvfp4(shape);
    if (has(".weight_blocks"))
      return mxfp4(shape);
    if (has(".weight.absmax"))
      return bitsAndBytes4(shape);
    const Tensor *weight = checkpoint.find(module + ".weight");
    if (weight && weight->dtype == DType::U8 &&
        checkpoint.quantization().method == Method::ModelOpt)
      return nibblesOfRows(shape);
    if (weight && weight->dtype == DType::I8)
      return integers(shape);
    if (weight && weight->dtype == DType::F8E4M3)
      return float8(shape);
    if (weight && checkpoint::isBlockType(weight->dtype))
      return ggmlBlocks(shape);
    return unsupported("this way of storing it", "supported: AWQ and GPTQ words, packed and plain "
                                                 "integers, FP8, NF4, FP4, NVFP4, MXFP4");
  }();
  if (!parts)
    return parts.error();
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  return Value(llm::DequantizeOp::create(builder, *location, type, parts->values, parts->scales,
                                         parts->zeros, parts->encoding));
}

//===- Formats ------------------------------------------------------------------------------===//

/// ModelOpt's W4A16_AWQ: weight [N / 2, K] with rows 2n and 2n + 1 in a byte, the first in its low
/// half, in two's complement; weight_scale [N, K / group].
checkpoint::Expected<StoredWeights::Parts> StoredWeights::nibblesOfRows(Shape shape) {
  int64_t rows = shape[0], columns = shape[1];
  auto scale = part(".weight_scale"), weight = part(".weight");
  if (!scale || !weight)
    return scale ? weight.error() : scale.error();
  if (rows % 2 != 0 || (*scale)->shape.size() != 2)
    return unsupported("rows in pairs, of " + std::to_string(rows), "2 must divide them");
  int64_t groups = static_cast<int64_t>((*scale)->shape[1]);
  auto fields = fieldsOf(shape, **weight, llvm::alignTo(columns * kNibble, kWordBits),
                         static_cast<uint64_t>(groups));
  if (!fields)
    return fields.error();
  auto values = read(".weight", integer(8), {rows / 2, columns});
  auto scales = readScales(".weight_scale", {rows, groups}, false);
  if (!values || !scales)
    return values ? scales.error() : values.error();
  Parts parts;
  parts.values =
      transpose(unpack(transpose(*values), rows, integer(4), kNibble, /*increment=*/kNibbleZero));
  parts.scales = *scales;
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), "int4", fields->group, false);
  return parts;
}

/// Packing `gemv`: qweight [N, K / 8] with words along K, qzeros [N, Z] and scales [N, 8 * Z] for
/// at least as many groups as there are.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::awqByRows(Shape shape) {
  int64_t rows = shape[0], columns = shape[1];
  auto zeroWords = part(".qzeros"), qweight = part(".qweight");
  if (!zeroWords || !qweight)
    return zeroWords ? qweight.error() : zeroWords.error();
  int64_t group = static_cast<int64_t>(checkpoint.quantization().group.value_or(0));
  int64_t groups = group > 0 ? llvm::divideCeil(columns, group) : 1;
  auto fields = fieldsOf(shape, **qweight, llvm::alignTo(columns * kNibble, kWordBits),
                         static_cast<uint64_t>(groups));
  if (!fields)
    return fields.error();
  int64_t extent = (*zeroWords)->shape.size() == 2 ? static_cast<int64_t>((*zeroWords)->shape[1])
                                                   : 0; // in words
  constexpr int64_t inWord = kWordBits / kNibble;
  if (extent * inWord < groups)
    return unsupported(message("zero points for ", extent * inWord, " of ", groups, " groups"),
                       "download the checkpoint again");
  auto values = read(".qweight", integer(32), {rows, wordsFor(columns * kNibble)});
  auto zeros = read(".qzeros", integer(32), {rows, extent});
  auto scales = readScales(".scales", {rows, extent * inWord}, false);
  for (const auto *value : {&values, &zeros, &scales})
    if (!*value)
      return value->error();
  Parts parts;
  parts.values = unpack(*values, columns, integer(4), kNibble);
  parts.zeros = unpack(*zeros, groups, integer(8), kNibble);
  parts.scales =
      extent * inWord == groups ? *scales : transpose(repeatRows(transpose(*scales), 1, groups));
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), "int4", fields->group, true);
  return parts;
}

/// qweight [K, N / 8], qzeros [K / group, N / 8], scales [K / group, N]; words run along N.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::awq(Shape shape) {
  if (checkpoint.quantization().wordsAlongInputs)
    return awqByRows(shape);
  int64_t rows = shape[0], columns = shape[1], words = rows * kNibble / kWordBits;
  auto scale = part(".scales");
  if (!scale)
    return scale.error();
  auto fields = fieldsOf(shape, **scale, kNibble * static_cast<uint64_t>(columns),
                         (*scale)->shape.empty() ? 0 : (*scale)->shape[0]);
  if (!fields)
    return fields.error();
  int64_t groups = static_cast<int64_t>((*scale)->shape[0]);
  if (rows % 8 != 0)
    return unsupported("AWQ with " + std::to_string(rows) + " outputs", "8 must divide them");
  auto values = read(".qweight", integer(32), {columns, words});
  auto zeros = read(".qzeros", integer(32), {groups, words});
  auto scales = readScales(".scales", {rows, groups}, true);
  for (const auto *value : {&values, &zeros, &scales})
    if (!*value)
      return value->error();
  Parts parts;
  parts.values = transpose(unpack(*values, rows, integer(4), kNibble, 0, 0, kAwqOrder));
  parts.zeros = transpose(unpack(*zeros, rows, integer(8), kNibble, 0, 0, kAwqOrder));
  parts.scales = *scales;
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), "int4", fields->group, true);
  return parts;
}

/// qweight [K * bits / 32, N] with words along K, qzeros [K / group, N * bits / 32] with words
/// along N, scales [K / group, N].
checkpoint::Expected<StoredWeights::Parts> StoredWeights::gptq(Shape shape) {
  const QuantizationConfig &config = checkpoint.quantization();
  bool hasZeros = !config.symmetric;
  int64_t rows = shape[0], columns = shape[1];
  auto words = wordsOf(".qweight", ".scales", shape, 0, hasZeros);
  if (!words)
    return words.error();
  if (auto done = readColumnOrder(".g_idx", columns, words->fields); !done)
    return done.error();
  auto values = read(".qweight", integer(32), {words->extent, rows});
  auto scales = readScales(".scales", {rows, words->groups}, true);
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  int64_t bits = words->fields.bits;
  Parts parts = partsOf(*words, transpose(*values), columns, hasZeros);
  parts.scales = *scales;
  if (hasZeros) {
    auto zeros = read(".qzeros", integer(32), {words->groups, wordsFor(rows * bits)});
    if (!zeros)
      return zeros.error();
    parts.zeros = transpose(unpack(*zeros, rows, integer(8), bits, config.zerosLessOne ? 1 : 0));
  }
  return parts;
}

/// g_idx [K]: the group of each input. Inputs are put in the order of their groups.
checkpoint::Outcome StoredWeights::readColumnOrder(StringRef name, int64_t columns,
                                                   const Fields &fields) {
  const Tensor *stored = checkpoint.find(module + name.str());
  if (!stored)
    return {};
  std::vector<int32_t> groups(static_cast<size_t>(columns));
  if (stored->dtype != DType::I32 || stored->bytes != groups.size() * sizeof(int32_t))
    return unsupported("a g_idx of another size than the inputs", "download the checkpoint again");
  if (auto done = checkpoint.read(*stored, 0, std::as_writable_bytes(std::span(groups))); !done)
    return done;
  // Old files have zeros where columns are in order.
  if (llvm::all_of(groups, [](int32_t group) { return group == 0; }))
    return {};
  SmallVector<int64_t> sorted = llvm::to_vector(llvm::seq<int64_t>(0, columns));
  llvm::stable_sort(sorted, [&](int64_t a, int64_t b) { return groups[a] < groups[b]; });
  for (auto [k, column] : llvm::enumerate(sorted))
    if (groups[column] != (fields.group == 0 ? 0 : static_cast<int64_t>(k) / fields.group))
      return unsupported("a g_idx whose groups have different sizes",
                         "download the checkpoint again");
  if (!llvm::is_sorted(sorted))
    order = std::move(sorted);
  return {};
}

/// compressed-tensors: weight_packed [N, K * bits / 32], weight_scale [N, groups],
/// weight_zero_point [N * bits / 32, groups] with words along N. Fields are signed values plus half
/// the range; the zero points are alike, so both halves cancel.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::packedIntegers(Shape shape) {
  bool hasZeros = checkpoint.find(module + ".weight_zero_point") != nullptr;
  int64_t rows = shape[0];
  auto words = wordsOf(".weight_packed", ".weight_scale", shape, 1, hasZeros);
  if (!words)
    return words.error();
  if (auto done = readColumnOrder(".weight_g_idx", shape[1], words->fields); !done)
    return done.error();
  auto values = read(".weight_packed", integer(32), {rows, words->extent});
  auto scales = readScales(".weight_scale", {rows, words->groups}, false);
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  int64_t bits = words->fields.bits;
  Parts parts = partsOf(*words, *values, shape[1], hasZeros);
  parts.scales = *scales;
  if (hasZeros) {
    auto zeros = read(".weight_zero_point", integer(32), {wordsFor(rows * bits), words->groups});
    if (!zeros)
      return zeros.error();
    parts.zeros = unpack(transpose(*zeros), rows, integer(8), bits);
  }
  return parts;
}

/// `axis`: that of the inputs in both tensors.
checkpoint::Expected<StoredWeights::Words>
StoredWeights::wordsOf(StringRef name, StringRef scales, Shape shape, size_t axis, bool hasZeros) {
  auto words = part(name), scale = part(scales);
  if (!words)
    return words.error();
  if (!scale)
    return scale.error();
  if ((*words)->dtype != DType::I32)
    return unsupported("a packed weight of " + std::string(dtypeName((*words)->dtype)) +
                           " elements",
                       "supported: integers packed in I32 words");
  if ((*words)->shape.size() != 2 || (*scale)->shape.size() != 2)
    return unsupported("words or scales that are no matrices", "download the checkpoint again");
  uint64_t extent = (*words)->shape[axis], groups = (*scale)->shape[axis];
  auto fields = fieldsOf(shape, **words, extent * kWordBits, groups);
  if (!fields)
    return fields.error();
  if (fields->bits == 8 && hasZeros)
    return unsupported("8 bits with zero points", "quantize symmetrically, or with 4 bits");
  return Words{*fields, static_cast<int64_t>(extent), static_cast<int64_t>(groups)};
}

/// Values and encoding; `words` have the inputs along their rows. Symmetric fields are moved so
/// that their middle is where the encoding has its own.
StoredWeights::Parts StoredWeights::partsOf(const Words &words, Value packed, int64_t columns,
                                            bool hasZeros) {
  int64_t bits = words.fields.bits, half = int64_t{1} << (bits - 1);
  int64_t bias = hasZeros ? 0 : bits == 8 ? half : half - kNibbleZero;
  Parts parts;
  parts.values = unpack(packed, columns, integer(bits == 8 ? 8 : 4), bits, 0, bias, order);
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), bits == 8 ? "int8" : "int4",
                                          words.fields.group, hasZeros);
  return parts;
}

/// weight [N, K] of I8 with weight_scale [N, 1] or [1] (compressed-tensors), or with SCB [N], the
/// largest magnitude that 127 stands for (bitsandbytes).
checkpoint::Expected<StoredWeights::Parts> StoredWeights::integers(Shape shape) {
  int64_t rows = shape[0];
  auto values = read(".weight", integer(8), shape);
  if (!values)
    return values.error();
  if (checkpoint.find(module + ".weight_zero_point"))
    return unsupported("8 bits with zero points", "quantize symmetrically");
  Parts parts;
  parts.values = *values;
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), "int8", 0, false);
  if (checkpoint.find(module + ".SCB")) {
    auto largest = read(".SCB", builder.getF32Type(), {rows, 1}, Shape({rows}));
    if (!largest)
      return largest.error();
    auto one = RankedTensorType::get({1}, builder.getF32Type());
    Value factor = llm::LiteralOp::create(builder, *location, one, "bitsandbytes.unit",
                                          DenseElementsAttr::get(one, 1.0f / 127.0f));
    parts.scales =
        llm::ScaleColumnsOp::create(builder, *location, largest->getType(), *largest, factor);
    return parts;
  }
  auto scale = part(".weight_scale");
  if (!scale)
    return scale.error();
  bool whole = llvm::all_of((*scale)->shape, [](uint64_t extent) { return extent == 1; });
  auto scales = readScales(".weight_scale", {whole ? 1 : rows, 1}, false);
  if (!scales)
    return scales.error();
  parts.scales = whole ? repeatRows(*scales, rows, rows) : *scales;
  return parts;
}

/// weight [N, K] of e4m3 with weight_scale_inv [N / 128, K / 128] (blocks; it multiplies, despite
/// its name) or weight_scale: of blocks, [N, 1] or a single one.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::float8(Shape shape) {
  constexpr int64_t block = 128;
  int64_t rows = shape[0], columns = shape[1];
  auto values = read(".weight", Float8E4M3FNType::get(builder.getContext()), shape);
  if (!values)
    return values.error();
  bool inverse = checkpoint.find(module + ".weight_scale_inv") != nullptr;
  StringRef name = inverse ? ".weight_scale_inv" : ".weight_scale";
  auto scale = part(name);
  if (!scale)
    return scale.error();
  Parts parts;
  parts.values = *values;
  int64_t group = 0;
  uint64_t count = 1;
  for (uint64_t extent : (*scale)->shape)
    count *= extent;
  int64_t blockRows = llvm::divideCeil(rows, block),
          blockColumns = llvm::divideCeil(columns, block);
  bool blocks = (*scale)->shape.size() == 2 && (inverse || (*scale)->shape[1] != 1) &&
                count == static_cast<uint64_t>(blockRows * blockColumns);
  if (blocks) {
    auto scales = readScales(name, {blockRows, blockColumns}, false);
    if (!scales)
      return scales.error();
    parts.scales = repeatRows(*scales, block, rows);
    group = blockColumns == 1 ? 0 : block;
  } else {
    bool whole = count == 1;
    auto scales = readScales(name, {whole ? 1 : rows, 1}, false);
    if (!scales)
      return scales.error();
    parts.scales = *scales;
    group = whole ? -1 : 0;
  }
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), "fp8", group, false);
  return parts;
}

/// The name that #llm.encoding has for a kind.
static StringRef nameOf(checkpoint::GgmlEncoding::Kind kind) {
  constexpr StringLiteral names[] = {"int4", "int8", "affine4", "affine8", "codebook4"};
  return names[static_cast<size_t>(kind)];
}

/// Blocks along K, taken apart.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::ggmlBlocks(Shape shape) {
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
                 "supported: F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, TQ1_0, "
                 "TQ2_0, MXFP4 and NVFP4; convert the model to one of them"};
  if (auto fits = expectShape(checkpoint, tensor, shape); !fits)
    return fits.error();
  checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(tensor.dtype);
  int64_t rows = shape[0], columns = shape[1], bytes = unit.bits / 8;
  int64_t blocks = columns / unit.elements, groups = columns / encoding->group;
  auto at = atSite(builder.getContext(), tensor.name);
  Value stored = llm::WeightOp::create(
      builder, at, RankedTensorType::get({rows, blocks * bytes}, integer(8)), tensor.name,
      checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset));
  auto take = [&](StringRef name, Type element, int64_t width) -> Value {
    return llm::BlockPartOp::create(builder, *location,
                                    RankedTensorType::get({rows, width}, element), stored, name,
                                    dtypeName(tensor.dtype), bytes);
  };
  Type scale = plainType(builder, encoding->scale);
  Parts parts;
  parts.values = take("values", integer(encoding->fourBits() ? 4 : 8), columns);
  parts.scales = take("scales", scale, groups);
  if (encoding->hasOffsets())
    parts.zeros = take("offsets", scale, groups);
  if (!encoding->codeBook.empty())
    parts.zeros =
        codeBook(dtypeName(tensor.dtype), {encoding->codeBook.data(), encoding->codeBook.size()});
  parts.encoding = llm::EncodingAttr::get(builder.getContext(), nameOf(encoding->kind),
                                          groups == 1 ? 0 : encoding->group, false);
  return parts;
}

/// The numbers of e2m1, by code.
static ArrayRef<float> e2m1() {
  const auto &book = checkpoint::ggmlEncoding(DType::MXFP4)->codeBook;
  return {book.data(), book.size()};
}

/// weight [N * K / 2, 1]: the flattened matrix, two values in a byte, the first in the high half.
/// absmax [N * K / blocksize] is what the largest number of quant_map [16] stands for. With double
/// quantization absmax holds codes: numbers of nested_quant_map [256], times nested_absmax of every
/// nested_blocksize of them, plus the nested_offset of quant_state.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::bitsAndBytes4(Shape shape) {
  int64_t rows = shape[0], columns = shape[1];
  auto absmax = part(".weight.absmax");
  if (!absmax)
    return absmax.error();
  int64_t blocks = (*absmax)->shape.size() == 1 ? static_cast<int64_t>((*absmax)->shape[0]) : 0;
  int64_t block = blocks > 0 ? rows * columns / blocks : 0;
  if (block < 1 || block * blocks != rows * columns || columns % block != 0 || columns % 2 != 0)
    return unsupported(message(blocks, " blocks of scales that cross rows of ", columns),
                       "quantize with a block size that divides the number of inputs");
  int64_t groups = columns / block;
  auto values = readNibbles(".weight", shape, {rows * columns / 2, 1}, true);
  auto scales =
      checkpoint.find(module + ".weight.nested_absmax")
          ? nestedScales(rows, groups)
          : read(".weight.absmax", builder.getF32Type(), {rows, groups}, Shape({rows * groups}));
  auto book = numbers(".weight.quant_map", 16);
  if (!book)
    return book.error();
  return codes(values, scales, codeBook("bitsandbytes", *book), columns, block);
}

checkpoint::Expected<Value> StoredWeights::nestedScales(int64_t rows, int64_t groups) {
  auto state = nestedState();
  if (!state)
    return state.error();
  auto book = numbers(".weight.nested_quant_map", 256);
  if (!book)
    return book.error();
  // The last block may be short; where it is the only one, it is a whole one.
  int64_t count = rows * groups, block = std::min(state->block, count), blocks = count / block;
  if (count % block != 0)
    return unsupported(message(count, " scales in blocks of ", block),
                       "quantize with blocks of scales that are all full");
  Type f32 = builder.getF32Type();
  auto codes = read(".weight.absmax", integer(8), {blocks, block}, Shape({count}));
  auto scales = read(".weight.nested_absmax", f32, {blocks, 1}, Shape({blocks}));
  if (!codes || !scales)
    return codes ? scales.error() : codes.error();
  auto encoding = llm::EncodingAttr::get(builder.getContext(), "codebook8", 0, false);
  auto type = RankedTensorType::get({blocks, block}, f32);
  Value numbers = llm::DequantizeOp::create(builder, *location, type, *codes, *scales,
                                            codeBook("bitsandbytes.nested", *book), encoding);
  numbers = llm::ConvertOp::create(builder, *location, type, numbers,
                                   builder.getF32FloatAttr(state->offset));
  return Value(llm::ReshapeOp::create(builder, *location,
                                      RankedTensorType::get({rows, groups}, f32), numbers));
}

/// Of the quant_state, a JSON object as bytes.
checkpoint::Expected<StoredWeights::NestedState> StoredWeights::nestedState() const {
  constexpr uint64_t longest = 1 << 16;
  constexpr double most = 1e30;
  const std::string prefix = module + ".weight.quant_state.bitsandbytes__";
  const Tensor *state = checkpoint.find(prefix + "nf4");
  state = state ? state : checkpoint.find(prefix + "fp4");
  if (!state)
    return Error{"INGOT-E1038", message("tensor ", prefix, "nf4 is missing"), "",
                 "save the model with its quantization state"};
  const std::string where = checkpoint.fileName(*state) + ", tensor " + state->name;
  if (state->bytes > longest)
    return Error{"INGOT-E1080", message("a quantization state of ", state->bytes, " bytes"), where,
                 "correct the checkpoint"};
  std::string text(state->bytes, '\0');
  if (auto done = checkpoint.read(*state, 0, std::as_writable_bytes(std::span(text))); !done)
    return done.error();
  auto object = checkpoint::Json::parse(text, where);
  if (!object)
    return object.error();
  checkpoint::JsonFields fields(*object);
  NestedState nested;
  nested.offset = static_cast<float>(fields.number("nested_offset", -most, most));
  nested.block = static_cast<int64_t>(fields.unsignedInteger("nested_blocksize", 1, 1 << 20));
  if (fields.error())
    return *fields.error();
  return nested;
}

/// weight_scale [N, K / 16] of e4m3. compressed-tensors: weight_packed [N, K / 2] of e2m1, and
/// weight_global_scale [1], which divides every scale. ModelOpt: weight [N, K / 2], and
/// weight_scale_2, a scalar, which multiplies them.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::nvfp4(Shape shape) {
  constexpr int64_t group = 16;
  int64_t rows = shape[0], columns = shape[1];
  bool isModelOpt = checkpoint.find(module + ".weight_scale_2") != nullptr;
  auto global = numbers(isModelOpt ? ".weight_scale_2" : ".weight_global_scale", 1);
  if (!global)
    return global.error();
  if (columns % group != 0)
    return unsupported(message("NVFP4 with ", columns, " inputs"), "16 must divide them");
  SmallVector<float> book;
  for (unsigned code = 0; code < 256; ++code) {
    llvm::APFloat scale(llvm::APFloat::Float8E4M3FN(), llvm::APInt(8, code));
    book.push_back(isModelOpt ? scale.convertToFloat() * global->front()
                              : scale.convertToFloat() / global->front());
  }
  auto values =
      readNibbles(isModelOpt ? ".weight" : ".weight_packed", shape, {rows, columns / 2}, false);
  auto scales = readCodes(".weight_scale", DType::F8E4M3, {rows, columns / group}, "e4m3", book);
  return codes(values, scales, codeBook("e2m1", e2m1()), columns, group);
}

/// weight_blocks [N, K / 32, 16] of e2m1, weight_scales [N, K / 32]: powers of two, by their
/// exponent plus 127. bf16 holds them all. compressed-tensors has weight_packed [N, K / 2] and
/// weight_scale.
checkpoint::Expected<StoredWeights::Parts> StoredWeights::mxfp4(Shape shape) {
  constexpr int64_t group = 32;
  constexpr int bias = 127;
  int64_t rows = shape[0], columns = shape[1], groups = columns / group;
  if (columns % group != 0)
    return unsupported(message("MXFP4 with ", columns, " inputs"), "32 must divide them");
  SmallVector<float> book;
  for (int code = 0; code < 255; ++code)
    book.push_back(std::ldexp(1.0f, code - bias));
  book.push_back(std::numeric_limits<float>::quiet_NaN());
  bool isPacked = checkpoint.find(module + ".weight_packed") != nullptr;
  auto values = isPacked ? readNibbles(".weight_packed", shape, {rows, columns / 2}, false)
                         : readNibbles(".weight_blocks", shape, {rows, groups, group / 2}, false);
  auto scales = readCodes(isPacked ? ".weight_scale" : ".weight_scales", DType::U8, {rows, groups},
                          "e8m0", book);
  if (scales)
    scales = Value(llm::ConvertOp::create(
        builder, *location, RankedTensorType::get({rows, groups}, builder.getBF16Type()), *scales));
  return codes(values, scales, codeBook("e2m1", e2m1()), columns, group);
}

checkpoint::Expected<StoredWeights::Parts> StoredWeights::codes(const Expected<Value> &values,
                                                                const Expected<Value> &scales,
                                                                Value book, int64_t columns,
                                                                int64_t group) {
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  return Parts{*values, *scales, book,
               llm::EncodingAttr::get(builder.getContext(), "codebook4",
                                      group == columns ? 0 : group, false)};
}

Value StoredWeights::codeBook(StringRef name, ArrayRef<float> numbers) {
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, builder.getF32Type());
  return llm::LiteralOp::create(builder, *location, type, (name + ".codebook").str(),
                                DenseElementsAttr::get(type, numbers));
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
  for (int64_t bits : {2, 3, 4, 8})
    if (llvm::alignTo(columns * bits, kWordBits) == fieldBits)
      fields.bits = bits;
  auto wrong = [&](const std::string &what) {
    return Error{"INGOT-E1080", message("tensor ", words.name, " ", what),
                 checkpoint.fileName(words), "check config.json against the weights"};
  };
  if (fields.bits == 0)
    return wrong(message("does not hold 2, 3, 4 or 8 bits for each of ", columns, " inputs"));
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

checkpoint::Expected<Value> StoredWeights::readNibbles(StringRef name, Shape shape, Shape stored,
                                                       bool highFirst) {
  auto bytes = read(name, integer(8), {shape[0], shape[1] / 2}, stored);
  if (!bytes)
    return bytes;
  constexpr int64_t exchanged[] = {1, 0};
  return unpack(*bytes, shape[1], integer(4), kNibble, 0, 0,
                highFirst ? Shape(exchanged) : Shape());
}

checkpoint::Expected<Value> StoredWeights::readCodes(StringRef name, DType dtype, Shape shape,
                                                     StringRef bookName, ArrayRef<float> book) {
  auto found = part(name);
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  if (auto fits = expectShape(checkpoint, tensor, shape); !fits)
    return fits.error();
  if (tensor.dtype != dtype)
    return Error{"INGOT-E1081",
                 message("scales ", tensor.name, " are ", dtypeName(tensor.dtype), " elements"),
                 checkpoint.fileName(tensor), "check config.json against the weights"};
  auto at = atSite(builder.getContext(), tensor.name);
  Value codes =
      llm::WeightOp::create(builder, at, RankedTensorType::get(shape, integer(8)), tensor.name,
                            checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset));
  auto type = RankedTensorType::get({1, 1}, builder.getF32Type());
  Value one = llm::LiteralOp::create(builder, at, type, "one", DenseElementsAttr::get(type, 1.0f));
  auto encoding = llm::EncodingAttr::get(builder.getContext(), "codebook8", -1, false);
  return Value(llm::DequantizeOp::create(builder, at,
                                         RankedTensorType::get(shape, builder.getF32Type()), codes,
                                         one, codeBook(bookName, book), encoding));
}

checkpoint::Expected<SmallVector<float>> StoredWeights::numbers(StringRef name,
                                                                size_t count) const {
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
