// SPDX-License-Identifier: Apache-2.0
// Matrices of small floats: FP8, and four-bit codes with their code books. The layouts are those
// that the projects' own code writes.
#include "compiler/importers/StoredWeights.h"
#include "dialects/llm/LlmWeightOps.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "passes/FusionReport.h"
#include "llvm/ADT/APFloat.h"
#include <numeric>
#include <span>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::message;
using checkpoint::Tensor;

/// weight [N, K] of e4m3 with weight_scale_inv (of blocks, usually 128 x 128; it multiplies,
/// despite its name) or weight_scale: of blocks, [N, 1] or a single one.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::float8(Shape shape) {
  const auto block = static_cast<int64_t>(checkpoint.quantization().block[0]),
             width = static_cast<int64_t>(checkpoint.quantization().block[1]);
  int64_t rows = shape[0], columns = shape[1];
  auto values = read(".weight", Float8E4M3FNType::get(builder.getContext()), shape);
  if (!values)
    return values.error();
  bool inverse = checkpoint.find(module + ".weight_scale_inv") != nullptr;
  StringRef name = inverse ? ".weight_scale_inv" : ".weight_scale";
  auto scale = part(name);
  if (!scale)
    return scale.error();
  EncodedWeight weight;
  weight.values = *values;
  int64_t group = 0;
  uint64_t count = 1;
  for (uint64_t extent : (*scale)->shape)
    count *= extent;
  int64_t blockRows = llvm::divideCeil(rows, block),
          blockColumns = llvm::divideCeil(columns, width);
  bool blocks = (*scale)->shape.size() == 2 && (inverse || (*scale)->shape[1] != 1) &&
                count == static_cast<uint64_t>(blockRows * blockColumns);
  if (blocks) {
    auto scales = readScales(name, {blockRows, blockColumns}, false);
    if (!scales)
      return scales.error();
    weight.scales = repeatRows(*scales, block, rows);
    group = blockColumns == 1 ? 0 : width;
  } else {
    bool whole = count == 1;
    auto scales = readScales(name, {whole ? 1 : rows, 1}, false);
    if (!scales)
      return scales.error();
    weight.scales = *scales;
    group = whole ? -1 : 0;
  }
  auto held = encoding(8, group);
  if (!held)
    return held.error();
  weight.encoding = *held;
  return weight;
}

/// The doubled numbers of e2m1, by code.
static ArrayRef<float> e2m1() {
  const auto &book = checkpoint::ggmlEncoding(DType::MXFP4)->codeBook;
  return {book.data(), book.size()};
}

/// weight [N * K / 2, 1]: the flattened matrix, two values in a byte, the first in the high half.
/// absmax [N * K / blocksize] is what the largest number of quant_map [16] stands for. Blocks may
/// cross rows: then a group is as much as lies in one block and in one row wherever these begin.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::bitsAndBytes4(Shape shape) {
  constexpr int64_t leastGroup = 8; // that kernels have
  int64_t rows = shape[0], columns = shape[1];
  bool nested = checkpoint.find(module + ".weight.nested_absmax") != nullptr;
  auto state = blockState(nested);
  if (!state)
    return state.error();
  int64_t group = std::gcd(state->block, columns), block = state->block;
  if (group < leastGroup)
    return unsupported(message("scales for ", block, " numbers of rows of ", columns),
                       "8 must divide both");
  int64_t blocks = llvm::divideCeil(rows * columns, block), groups = columns / group;
  Type f32 = builder.getF32Type();
  auto values = readNibbles(".weight", shape, {rows * columns / 2, 1}, true);
  auto scales = nested           ? nestedScales(*state, blocks)
                : group == block ? read(".weight.absmax", f32, {rows, groups}, Shape({blocks}))
                                 : read(".weight.absmax", f32, {blocks, 1}, Shape({blocks}));
  if (scales && group < block)
    scales = repeatRows(*scales, block / group, rows * groups);
  if (scales && (nested || group < block))
    scales = Value(llm::ReshapeOp::create(builder, *location,
                                          RankedTensorType::get({rows, groups}, f32), *scales));
  auto book = numbers(".weight.quant_map", 16);
  if (!book)
    return book.error();
  return codes(values, scales, codeBook("bitsandbytes", *book), columns, group);
}

/// Scales [blocks, 1] under double quantization, where absmax holds codes: numbers of
/// nested_quant_map [256], times nested_absmax of every nested_blocksize of them, plus the
/// nested_offset of quant_state.
checkpoint::Expected<Value> StoredWeights::nestedScales(const BlockState &state, int64_t blocks) {
  auto book = numbers(".weight.nested_quant_map", 256);
  if (!book)
    return book.error();
  int64_t outer = llvm::divideCeil(blocks, state.nestedBlock);
  Type f32 = builder.getF32Type();
  auto codes = read(".weight.absmax", integer(8), {blocks, 1}, Shape({blocks}));
  auto scales = read(".weight.nested_absmax", f32, {outer, 1}, Shape({outer}));
  if (!codes || !scales)
    return codes ? scales.error() : codes.error();
  auto encoding = llm::EncodingAttr::get(builder.getContext(), Encoding{EncodingKind::CodeBook8});
  EncodedWeight stored{*codes,
                       repeatRows(*scales, state.nestedBlock, blocks),
                       codeBook("bitsandbytes.nested", *book),
                       {},
                       encoding};
  Value numbers = llm::DequantizeOp::create(builder, *location,
                                            RankedTensorType::get({blocks, 1}, f32), stored);
  return Value(llm::ConvertOp::create(builder, *location, numbers.getType(), numbers,
                                      builder.getF32FloatAttr(state.nestedOffset)));
}

/// Of the quant_state, a JSON object as bytes.
checkpoint::Expected<StoredWeights::BlockState> StoredWeights::blockState(bool nested) const {
  constexpr uint64_t longest = 1 << 16, mostInBlock = 1 << 20;
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
  BlockState result;
  result.block = static_cast<int64_t>(fields.unsignedInteger("blocksize", 1, mostInBlock));
  if (nested) {
    result.nestedOffset = static_cast<float>(fields.number("nested_offset", -most, most));
    result.nestedBlock =
        static_cast<int64_t>(fields.unsignedInteger("nested_blocksize", 1, mostInBlock));
  }
  if (fields.error())
    return *fields.error();
  return result;
}

/// weight_scale [N, K / 16] of e4m3. compressed-tensors: weight_packed [N, K / 2] of e2m1, and
/// weight_global_scale [1], which divides every scale. ModelOpt: weight [N, K / 2], and
/// weight_scale_2, a scalar, which multiplies them.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::nvfp4(Shape shape) {
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
    float whole = isModelOpt ? scale.convertToFloat() * global->front()
                             : scale.convertToFloat() / global->front();
    book.push_back(whole / 2);
  }
  auto values =
      readNibbles(isModelOpt ? ".weight" : ".weight_packed", shape, {rows, columns / 2}, false);
  auto scales = readBytes(".weight_scale", DType::F8E4M3, {rows, columns / group});
  return codes(values, scales, codeBook("e2m1", e2m1()), columns, group, codeBook("e4m3", book));
}

/// weight_blocks [N, K / 32, 16] of e2m1, weight_scales [N, K / 32]: powers of two, by their
/// exponent plus 127. compressed-tensors has weight_packed [N, K / 2] and
/// weight_scale. Experts have NAME_blocks [E, N / E, K / 32, 16] and NAME_scales.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::mxfp4(Shape shape) {
  constexpr int64_t group = 32;
  int64_t rows = shape[0], columns = shape[1], groups = columns / group;
  if (columns % group != 0)
    return unsupported(message("MXFP4 with ", columns, " inputs"), "32 must divide them");
  bool isPacked = checkpoint.find(module + ".weight_packed") != nullptr;
  const Tensor *stack = checkpoint.find(module + "_blocks");
  std::string name = stack ? "" : ".weight";
  SmallVector<int64_t> leading = {rows};
  if (stack && !stack->shape.empty() && stack->shape[0] > 0) {
    auto experts = static_cast<int64_t>(std::min(stack->shape[0], static_cast<uint64_t>(rows)));
    leading = {experts, rows / experts};
  }
  auto storedAs = [&](std::initializer_list<int64_t> rest) {
    SmallVector<int64_t> whole(leading);
    whole.append(rest);
    return whole;
  };
  auto values = isPacked
                    ? readNibbles(".weight_packed", shape, {rows, columns / 2}, false)
                    : readNibbles(name + "_blocks", shape, storedAs({groups, group / 2}), false);
  SmallVector<int64_t> scaleShape = storedAs({groups});
  auto scales = readBytes(isPacked ? ".weight_scale" : name + "_scales", DType::U8, {rows, groups},
                          Shape(scaleShape));
  return codes(values, scales, codeBook("e2m1", e2m1()), columns, group, powersOfTwo(1));
}

/// weight [N, K] of e4m3, weight_scale [N, K / 32]: powers of two, by their exponent plus 127.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::mxfp8(Shape shape) {
  constexpr int64_t group = 32;
  int64_t rows = shape[0], columns = shape[1];
  if (columns % group != 0)
    return unsupported(message("MXFP8 with ", columns, " inputs"), "32 must divide them");
  auto values = read(".weight", Float8E4M3FNType::get(builder.getContext()), shape);
  if (!values)
    return values.error();
  auto scales = readBytes(".weight_scale", DType::U8, {rows, columns / group});
  if (!scales)
    return scales.error();
  auto held = encoding(8, group == columns ? 0 : group);
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, {}, powersOfTwo(2), *held};
}

Value StoredWeights::powersOfTwo(float factor) {
  SmallVector<float> table;
  for (float half : checkpoint::ggmlEncoding(DType::MXFP4)->scaleTable)
    table.push_back(factor * half);
  return codeBook("e8m0", table);
}

checkpoint::Expected<llm::EncodedWeight> StoredWeights::codes(const Expected<Value> &values,
                                                              const Expected<Value> &scales,
                                                              Value book, int64_t columns,
                                                              int64_t group, Value table) {
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  auto held = encoding(kNibble, group == columns ? 0 : group);
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, book, table, *held};
}

Value StoredWeights::codeBook(StringRef name, ArrayRef<float> numbers) {
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, builder.getF32Type());
  return llm::LiteralOp::create(builder, *location, type, (name + ".codebook").str(),
                                DenseElementsAttr::get(type, numbers));
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

checkpoint::Expected<Value> StoredWeights::readBytes(StringRef name, DType dtype, Shape shape,
                                                     std::optional<Shape> stored) {
  auto found = part(name);
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  if (auto fits = expectShape(checkpoint, tensor, stored.value_or(shape)); !fits)
    return fits.error();
  if (tensor.dtype != dtype)
    return Error{"INGOT-E1081",
                 message("scales ", tensor.name, " are ", dtypeName(tensor.dtype), " elements"),
                 checkpoint.fileName(tensor), "check config.json against the weights"};
  return Value(llm::WeightOp::create(
      builder, atSite(builder.getContext(), tensor.name), RankedTensorType::get(shape, integer(8)),
      tensor.name, checkpoint.fileName(tensor), static_cast<int64_t>(tensor.offset)));
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
