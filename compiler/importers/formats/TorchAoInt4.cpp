// SPDX-License-Identifier: Apache-2.0
// TorchAO's integers of four bits: Int4Tensor, and Int4TilePackedTo4dTensor in the order of the
// tinygemm kernels for CUDA.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/importers/formats/TorchAoTensor.h"
#include "dialects/llm/LlmWeightOps.h"

#include <array>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::inQuotes;
using checkpoint::message;
using llm::EncodedWeight;

namespace {

/// Codes from the least number on [N, K]; scales, and what the middle code stands for, in f32,
/// group after group in one column.
struct Parts {
  Value codes, scales, middles;
};

} // namespace

/// Outputs and inputs of a tile, and what inputs are padded to.
static constexpr int64_t kOutputs = 8, kInputs = 128, kPadding = 1024;

/// Which field of 1024 has input k of output n, at n * 128 + k: a warp's threads, four words of
/// each, with even inputs first.
static constexpr std::array<int64_t, kOutputs * kInputs> kOrder = [] {
  std::array<int64_t, kOutputs * kInputs> order{};
  for (int64_t n = 0; n < kOutputs; ++n)
    for (int64_t k = 0; k < kInputs; ++k)
      order[static_cast<size_t>(n * kInputs + k)] =
          (n * 4 + k % 8 / 2) * 32 + k / 32 * 8 + k % 2 * 4 + k % 32 / 8;
  return order;
}();

/// qdata [N / 8, K / 128, 32, 4] of I32, with K padded; scale_and_zero [K / group, N, 2] of bf16.
static Expected<Parts> readTiles(StoredMatrix &matrix, int64_t groups) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1],
          padded = llvm::alignTo(columns, kPadding);
  if (rows % kOutputs != 0 || columns % kInputs != 0)
    return matrix.unsupported(message("packing tile_packed_to_4d of ", rows, " x ", columns),
                              "8 must divide the outputs, and 128 the inputs");
  int64_t high = rows / kOutputs, wide = padded / kInputs, count = groups * rows,
          stored = padded / (columns / groups) * rows;
  auto words = matrix.read(kTorchAoData, matrix.integer(32), {high, wide * kInputs},
                           ArrayRef<int64_t>({high, wide, 32, 4}));
  auto pairs = matrix.read("._weight_scale_and_zero", matrix.builder.getBF16Type(), {stored, 2},
                           ArrayRef<int64_t>({stored / rows, rows, 2}));
  if (!words || !pairs)
    return words ? pairs.error() : words.error();
  Value tiles = matrix.reshape(
      matrix.unpack(*words, wide * kOutputs * kInputs, matrix.integer(4), kNibble, 0, 0, kOrder),
      {high * wide * kOutputs, kInputs});
  Value byInput = matrix.sliceRows(matrix.permuteRows(tiles, {high, wide, kOutputs}, {1, 0, 2}), 0,
                                   columns / kInputs * rows);
  Value byOutput = matrix.permuteRows(byInput, {columns / kInputs, rows}, {1, 0});
  Value apart = matrix.transpose(matrix.sliceRows(*pairs, 0, count));
  auto column = [&](int64_t which) {
    return matrix.reshape(matrix.asF32(matrix.sliceRows(apart, which, 1)), {count, 1});
  };
  return Parts{matrix.reshape(byOutput, {rows, columns}), column(0), column(1)};
}

/// qdata [N, K / 2], the even input in the low half, in two's complement; scale and zero_point
/// [K / group, N] of bf16.
static Expected<Parts> readPlain(StoredMatrix &matrix, const TorchAoTensor &tensor,
                                 int64_t groups) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  if (auto activations = tensor.data.find("activation_dtype");
      activations && !activations->isNull()) {
    checkpoint::JsonFields dtype(*activations);
    const std::string stated = dtype.stringOr("_data", "");
    if (dtype.error())
      return *dtype.error();
    if (stated != "bfloat16")
      return matrix.unsupported("activation_dtype " + inQuotes(stated),
                                "supported: Int4Tensor for bfloat16 activations");
  }
  if (columns % 2 != 0)
    return matrix.unsupported(message("packing ", columns, " inputs"), "2 must divide them");
  Type bf16 = matrix.builder.getBF16Type();
  auto bytes = matrix.read(kTorchAoData, matrix.integer(8), {rows, columns / 2});
  auto scales = matrix.read("._weight_scale", bf16, {groups, rows});
  auto middles = matrix.read("._weight_zero_point", bf16, {groups, rows});
  for (const auto *value : {&bytes, &scales, &middles})
    if (!*value)
      return value->error();
  auto column = [&](Value part) { return matrix.reshape(matrix.asF32(part), {groups * rows, 1}); };
  return Parts{
      matrix.unpack(*bytes, columns, matrix.integer(4), kNibble, /*increment=*/kNibbleZero),
      column(*scales), column(*middles)};
}

/// A value is scale * code + (middle - 8 * scale), in f32, as TorchAO forms it.
Expected<EncodedWeight> compiler::readTorchAoInt4(StoredMatrix &matrix) {
  auto tensor = torchAoTensor(matrix, {"Int4Tensor", "Int4TilePackedTo4dTensor"});
  if (!tensor)
    return tensor.error();
  if (tensor->rows != 1)
    return matrix.unsupported("a block_size other than [1, group]",
                              "quantize with a group of inputs");
  int64_t rows = matrix.shape[0], groups = matrix.shape[1] / tensor->columns;
  bool isTiled = matrix.find("._weight_scale_and_zero") != nullptr;
  auto parts = isTiled ? readTiles(matrix, groups) : readPlain(matrix, *tensor, groups);
  if (!parts)
    return parts.error();
  auto held = matrix.encoding(kNibble, groups == 1 ? 0 : tensor->columns);
  if (!held)
    return held.error();
  // Every number is a row with a scale and an offset of its own.
  auto single = RankedTensorType::get({1, 1}, matrix.integer(8));
  Value least =
      llm::LiteralOp::create(matrix.builder, matrix.location, single, "torchao.least",
                             DenseElementsAttr::get(single, static_cast<int8_t>(-kNibbleZero)));
  EncodedWeight stored{
      matrix.repeatRows(least, groups * rows, groups * rows),
      parts->scales,
      parts->middles,
      {},
      llm::EncodingAttr::get(matrix.builder.getContext(), Encoding{EncodingKind::Affine8})};
  Value offsets =
      llm::DequantizeOp::create(matrix.builder, matrix.location, parts->scales.getType(), stored);
  auto byRow = [&](Value column) {
    return matrix.transpose(matrix.reshape(column, {groups, rows}));
  };
  return EncodedWeight{parts->codes, byRow(parts->scales), byRow(offsets), {}, *held};
}
