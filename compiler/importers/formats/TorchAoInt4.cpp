// SPDX-License-Identifier: Apache-2.0
// TorchAO's Int4Tensor.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/importers/formats/TorchAoTensor.h"
#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::inQuotes;
using checkpoint::message;
using llm::EncodedWeight;

/// How many inputs share a scale, of an Int4Tensor; other classes are refused by name.
static Expected<int64_t> groupOf(const StoredMatrix &matrix) {
  auto tensor = torchAoTensor(matrix, {"Int4Tensor"});
  if (!tensor)
    return tensor.error();
  if (auto activations = tensor->data.find("activation_dtype");
      activations && !activations->isNull()) {
    checkpoint::JsonFields dtype(*activations);
    const std::string stated = dtype.stringOr("_data", "");
    if (dtype.error())
      return *dtype.error();
    if (stated != "bfloat16")
      return matrix.unsupported("activation_dtype " + inQuotes(stated),
                                "supported: Int4Tensor of packing plain, for bfloat16 activations");
  }
  if (matrix.shape[1] % 2 != 0)
    return matrix.unsupported(message("packing ", matrix.shape[1], " inputs"),
                              "2 must divide them");
  if (tensor->rows != 1)
    return matrix.unsupported("a block_size other than [1, group]",
                              "quantize with a group of inputs");
  return tensor->columns;
}

/// qdata [N, K / 2], the even input in the low half, in two's complement; scale and zero_point
/// [K / group, N] of bf16. A value is scale * (q + 8) + (zero_point - 8 * scale), in f32, as
/// TorchAO forms it: zero_point is what q = 0 stands for.
Expected<EncodedWeight> compiler::readTorchAoInt4(StoredMatrix &matrix) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  auto group = groupOf(matrix);
  if (!group)
    return group.error();
  int64_t groups = columns / *group;
  auto bytes = matrix.read(kTorchAoData, matrix.integer(8), {rows, columns / 2});
  auto scales = matrix.read("._weight_scale", matrix.builder.getBF16Type(), {groups, rows});
  auto middles = matrix.read("._weight_zero_point", matrix.builder.getBF16Type(), {groups, rows});
  for (const auto *value : {&bytes, &scales, &middles})
    if (!*value)
      return value->error();
  auto held = matrix.encoding(kNibble, *group == columns ? 0 : *group);
  if (!held)
    return held.error();
  Type f32 = matrix.builder.getF32Type();
  /// In one column, where every number is a row with a scale and an offset of its own.
  auto inColumn = [&](Value bf16) {
    return matrix.reshape(matrix.asF32(bf16), {groups * rows, 1});
  };
  auto byRow = [&](Value column) {
    return matrix.transpose(matrix.reshape(column, {groups, rows}));
  };
  auto single = RankedTensorType::get({1, 1}, matrix.integer(8));
  Value least =
      llm::LiteralOp::create(matrix.builder, matrix.location, single, "torchao.least",
                             DenseElementsAttr::get(single, static_cast<int8_t>(-kNibbleZero)));
  Value scaleColumn = inColumn(*scales);
  EncodedWeight stored{
      matrix.repeatRows(least, groups * rows, groups * rows),
      scaleColumn,
      inColumn(*middles),
      {},
      llm::EncodingAttr::get(matrix.builder.getContext(), Encoding{EncodingKind::Affine8})};
  Value offsets = llm::DequantizeOp::create(matrix.builder, matrix.location,
                                            RankedTensorType::get({groups * rows, 1}, f32), stored);
  return EncodedWeight{
      matrix.unpack(*bytes, columns, matrix.integer(4), kNibble, /*increment=*/kNibbleZero),
      byRow(scaleColumn),
      byRow(offsets),
      {},
      *held};
}
