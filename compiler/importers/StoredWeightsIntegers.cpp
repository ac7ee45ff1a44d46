// SPDX-License-Identifier: Apache-2.0
// Matrices of integers: packed words of AWQ, GPTQ and compressed-tensors, nibbles and bytes. The
// layouts are those that the projects' own code writes.
#include "compiler/importers/StoredWeights.h"
#include "dialects/llm/LlmWeightOps.h"

#include <array>
#include <span>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::message;
using checkpoint::QuantizationConfig;
using checkpoint::Tensor;

/// Where output j of eight lies in AWQ's words.
static constexpr int64_t kAwqOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};
/// Where input j of 32 lies in the words of its packing `gemv_fast`.
static constexpr std::array<int64_t, 32> kAwqFastOrder = [] {
  std::array<int64_t, 32> order{};
  for (int64_t j = 0; j < 32; ++j)
    order[j] = j % 8 / 2 * 8 + j % 2 * 4 + j / 8;
  return order;
}();

/// qweight [K, N / 8], qzeros [K / group, N / 8], scales [K / group, N]; words run along N.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::awq(Shape shape) {
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
  auto held = encoding(kNibble, fields->group, true);
  if (!held)
    return held.error();
  return EncodedWeight{transpose(unpack(*values, rows, integer(4), kNibble, 0, 0, kAwqOrder)),
                       *scales,
                       transpose(unpack(*zeros, rows, integer(8), kNibble, 0, 0, kAwqOrder)),
                       {},
                       *held};
}

/// Packing `gemv`: qweight [N, K / 8] with words along K, qzeros [N, Z] and scales [N, 8 * Z] for
/// at least as many groups as there are.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::awqByRows(Shape shape) {
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
  auto held = encoding(kNibble, fields->group, true);
  if (!held)
    return held.error();
  return EncodedWeight{
      unpack(*values, columns, integer(4), kNibble),
      extent * inWord == groups ? *scales : transpose(repeatRows(transpose(*scales), 1, groups)),
      unpack(*zeros, groups, integer(8), kNibble),
      {},
      *held};
}

/// Packing `gemv_fast`: qweight [N / 4, K] of I16. A row has four outputs; for every 64 inputs come
/// the fields of the first, of the second, ... The values are scale * stored + offset, where scales
/// and qzeros (scaled_zeros in the files of llm-awq) are [at least K / group, N].
checkpoint::Expected<llm::EncodedWeight> StoredWeights::awqFast(Shape shape) {
  constexpr int64_t interleaved = 4, run = 64, wordBits = 16;
  int64_t rows = shape[0], columns = shape[1];
  StringRef offsetName = checkpoint.find(module + ".qzeros") ? ".qzeros" : ".scaled_zeros";
  auto words = part(".qweight"), scale = part(".scales");
  if (!words || !scale)
    return words ? scale.error() : words.error();
  if (rows % interleaved != 0 || columns % run != 0)
    return unsupported(message("packing gemv_fast of ", rows, " x ", columns),
                       "4 must divide the outputs, and 64 the inputs");
  if ((*words)->shape.size() != 2 || (*words)->dtype != DType::I16 || (*scale)->shape.size() != 2)
    return unsupported("a packed weight of " + std::string(dtypeName((*words)->dtype)) +
                           " elements",
                       "supported: matrices of I16 words");
  int64_t group = static_cast<int64_t>(checkpoint.quantization().group.value_or(0));
  int64_t groups = group > 0 ? llvm::divideCeil(columns, group) : 1;
  auto extent = static_cast<int64_t>((*scale)->shape[0]);
  auto fields = fieldsOf(shape, **words, (*words)->shape[1] * wordBits / interleaved,
                         static_cast<uint64_t>(groups));
  if (!fields)
    return fields.error();
  if (extent < groups)
    return unsupported(message("scales for ", extent, " of ", groups, " groups"),
                       "download the checkpoint again");
  const int64_t bytes = run * kNibble / 8;
  auto values = read(".qweight", integer(8), {rows * columns / run, bytes},
                     Shape({rows / interleaved, columns}));
  auto scales = readScales(".scales", {extent, rows}, false);
  auto offsets = readScales(offsetName, {extent, rows}, false);
  auto held = encoding(kNibble, fields->group);
  for (const auto *value : {&values, &scales, &offsets})
    if (!*value)
      return value->error();
  if (!held)
    return held.error();
  Value inOrder = llm::PermuteRowsOp::create(
      builder, *location, *values, ArrayRef{rows / interleaved, columns / run, interleaved},
      ArrayRef<int64_t>{0, 2, 1});
  inOrder = llm::ReshapeOp::create(builder, *location,
                                   RankedTensorType::get({rows, columns / 2}, integer(8)), inOrder);
  auto byRow = [&](Value part) { return transpose(repeatRows(part, 1, groups)); };
  return EncodedWeight{unpack(inOrder, columns, integer(4), kNibble, 0, 0, kAwqFastOrder),
                       byRow(*scales),
                       byRow(*offsets),
                       {},
                       *held};
}

/// What stored zero points are more than those of the encoding: bytes are signed there.
static int64_t zeroBias(int64_t bits) { return bits == 8 ? 128 : 0; }

/// qweight [K * bits / 32, N] with words along K, qzeros [K / group, N * bits / 32] with words
/// along N, scales [K / group, N].
checkpoint::Expected<llm::EncodedWeight> StoredWeights::gptq(Shape shape) {
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
  auto weight = encodedFrom(*words, transpose(*values), columns, hasZeros);
  if (!weight)
    return weight;
  weight->scales = *scales;
  if (hasZeros) {
    auto zeros = read(".qzeros", integer(32), {words->groups, wordsFor(rows * bits)});
    if (!zeros)
      return zeros.error();
    weight->zeros = transpose(
        unpack(*zeros, rows, integer(8), bits, config.zerosLessOne ? 1 : 0, zeroBias(bits)));
  }
  return weight;
}

/// compressed-tensors: weight_packed [N, K * bits / 32], weight_scale [N, groups],
/// weight_zero_point [N * bits / 32, groups] with words along N. Fields are signed values plus half
/// the range; the zero points are alike, so both halves cancel.
checkpoint::Expected<llm::EncodedWeight> StoredWeights::packedIntegers(Shape shape) {
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
  auto weight = encodedFrom(*words, *values, shape[1], hasZeros);
  if (!weight)
    return weight;
  weight->scales = *scales;
  if (hasZeros) {
    auto zeros = read(".weight_zero_point", integer(32), {wordsFor(rows * bits), words->groups});
    if (!zeros)
      return zeros.error();
    weight->zeros = transpose(unpack(transpose(*zeros), rows, integer(8), bits, 0, zeroBias(bits)));
  }
  return weight;
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
  return Words{*fields, static_cast<int64_t>(extent), static_cast<int64_t>(groups)};
}

/// Values and encoding; `words` have the inputs along their rows. Bytes become signed ones.
checkpoint::Expected<llm::EncodedWeight>
StoredWeights::encodedFrom(const Words &words, Value packed, int64_t columns, bool hasZeros) {
  int64_t bits = words.fields.bits, bias = bits == 8 ? 128 : 0;
  auto held = encoding(bits, words.fields.group, hasZeros);
  if (!held)
    return held.error();
  Type element = integer(static_cast<unsigned>(bits));
  return EncodedWeight{unpack(packed, columns, element, bits, 0, bias, order), {}, {}, {}, *held};
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

/// weight [N, K] of I8 with weight_scale, and perhaps weight_zero_point, [N, 1] or [1]
/// (compressed-tensors), or with SCB [N], the largest magnitude that 127 stands for (bitsandbytes).
checkpoint::Expected<llm::EncodedWeight> StoredWeights::integers(Shape shape) {
  auto values = read(".weight", integer(8), shape);
  if (!values)
    return values.error();
  auto zeros = zerosOfRows(".weight_zero_point", shape[0]);
  auto scales = reader == FormatReader::BitsAndBytes8 ? scalesOfMagnitudes(shape[0])
                                                      : byRow(".weight_scale", {}, shape[0]);
  if (!zeros || !scales)
    return zeros ? scales.error() : zeros.error();
  auto held = encoding(8, 0, static_cast<bool>(*zeros));
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, *zeros, {}, *held};
}

checkpoint::Expected<Value> StoredWeights::scalesOfMagnitudes(int64_t rows) {
  auto largest = read(".SCB", builder.getF32Type(), {rows, 1}, Shape({rows}));
  if (!largest)
    return largest;
  auto one = RankedTensorType::get({1}, builder.getF32Type());
  Value factor = llm::LiteralOp::create(builder, *location, one, "bitsandbytes.unit",
                                        DenseElementsAttr::get(one, 1.0f / 127.0f));
  return Value(
      llm::ScaleColumnsOp::create(builder, *location, largest->getType(), *largest, factor));
}

/// Null where there are none, or all are zero, as files of symmetric weights have them.
checkpoint::Expected<Value> StoredWeights::zerosOfRows(StringRef name, int64_t rows) {
  const Tensor *stored = checkpoint.find(module + name.str());
  if (!stored)
    return Value();
  if (stored->dtype != DType::I8 || stored->bytes > static_cast<uint64_t>(rows))
    return unsupported(message(stored->bytes, " bytes of ", dtypeName(stored->dtype),
                               " zero points of ", rows, " rows"),
                       "supported: one I8 for a row, or for all");
  std::vector<std::byte> bytes(stored->bytes);
  if (auto done = checkpoint.read(*stored, 0, bytes); !done)
    return done.error();
  if (llvm::all_of(bytes, [](std::byte zero) { return zero == std::byte(0); }))
    return Value();
  return byRow(name, integer(8), rows);
}

/// The numbers [N, 1] of rows, of which the file may have one for all. Without an element: scales.
checkpoint::Expected<Value> StoredWeights::byRow(StringRef name, Type element, int64_t rows) {
  auto found = part(name);
  if (!found)
    return found.error();
  SmallVector<int64_t> stored((*found)->shape.begin(), (*found)->shape.end());
  bool whole = llvm::all_of(stored, [](int64_t extent) { return extent == 1; });
  SmallVector<int64_t> shape{whole ? 1 : rows, 1};
  auto value = element ? read(name, element, shape, whole ? Shape(stored) : Shape(shape))
                       : readScales(name, shape, false);
  return value && whole ? Expected<Value>(repeatRows(*value, rows, rows)) : value;
}

/// ModelOpt's W4A16_AWQ: weight [N / 2, K] with rows 2n and 2n + 1 in a byte, the first in its low
/// half, in two's complement; weight_scale [N, K / group].
checkpoint::Expected<llm::EncodedWeight> StoredWeights::nibblesOfRows(Shape shape) {
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
  auto held = encoding(kNibble, fields->group);
  if (!held)
    return held.error();
  return EncodedWeight{
      transpose(unpack(transpose(*values), rows, integer(4), kNibble, /*increment=*/kNibbleZero)),
      *scales,
      {},
      {},
      *held};
}
