// SPDX-License-Identifier: Apache-2.0
// HQQ: integers with zero points that are none.
#include "compiler/importers/formats/FormatReaders.h"

#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::message;
using llm::EncodedWeight;

/// -zero * scale [N, groups], or what stands for code `middle` in its place. Numbers are in one
/// column, each a row with a scale and an offset of its own, and then in one row.
static Value offsetsOf(StoredMatrix &matrix, Value zeros, Value scales, int64_t groups,
                       float middle) {
  OpBuilder &builder = matrix.builder;
  Type f32 = builder.getF32Type();
  int64_t count = matrix.shape[0] * groups;
  auto literal = [&](StringRef name, RankedTensorType type, DenseElementsAttr value) {
    return matrix.repeatRows(llm::LiteralOp::create(builder, matrix.location, type, name, value),
                             count, count);
  };
  auto byte = RankedTensorType::get({1, 1}, matrix.integer(8)),
       number = RankedTensorType::get({1, 1}, f32);
  EncodedWeight negated{
      literal("hqq.minus", byte, DenseElementsAttr::get(byte, static_cast<int8_t>(-1))),
      matrix.asF32(zeros),
      literal("hqq.midpoint", number, DenseElementsAttr::get(number, middle)),
      {},
      llm::EncodingAttr::get(builder.getContext(), Encoding{EncodingKind::Affine8})};
  Value column = llm::DequantizeOp::create(builder, matrix.location,
                                           RankedTensorType::get({count, 1}, f32), negated);
  Value row = matrix.reshape(column, {1, count});
  Value products =
      llm::ScaleColumnsOp::create(builder, matrix.location, row.getType(), row, scales);
  return matrix.reshape(products, {matrix.shape[0], groups});
}

/// W_q [N * groups * bits / 8, K / groups] of U8: the matrix in as many parts, one below the other,
/// as a byte has fields, the first in the highest bits. scale and zero [N * groups, 1] of a float
/// type: a value is (code - zero) * scale.
Expected<EncodedWeight> compiler::readHqq(StoredMatrix &matrix) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  auto words = matrix.part(".W_q"), scale = matrix.part(".scale"), zero = matrix.part(".zero");
  for (const auto *part : {&words, &scale, &zero})
    if (!*part)
      return part->error();
  const uint64_t numbers = (*scale)->shape.empty() ? 0 : (*scale)->shape[0];
  auto fields = matrix.fieldsOf(**words, (*words)->bytes / static_cast<uint64_t>(rows) * 8,
                                numbers / static_cast<uint64_t>(rows));
  if (!fields)
    return fields.error();
  int64_t groups = static_cast<int64_t>(numbers) / rows, parts = 8 / fields->bits;
  if (rows % parts != 0 || columns % groups != 0)
    return matrix.unsupported(
        message("HQQ of ", rows, " x ", columns, " in groups that are no part of a row"),
        message(parts, " must divide the outputs, and the group the inputs"));
  int64_t count = rows * groups;
  auto packed = matrix.read(".W_q", matrix.integer(8), {rows / parts, columns},
                            ArrayRef<int64_t>({count / parts, columns / groups}));
  auto factors = matrix.readFloats(".scale", {count}, ArrayRef<int64_t>({count, 1}));
  auto scales = matrix.readFloats(".scale", {rows, groups}, ArrayRef<int64_t>({count, 1}));
  auto zeros = matrix.readFloats(".zero", {count, 1});
  for (const auto *value : {&packed, &factors, &scales, &zeros})
    if (!*value)
      return value->error();
  auto held = matrix.encoding(fields->bits, fields->group);
  if (!held)
    return held.error();
  Value codes;
  if (parts == 1) {
    codes = matrix.unpack(*packed, columns, matrix.integer(8), 8, 0, /*bias=*/128);
  } else {
    SmallVector<int64_t> fromTop = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, parts)));
    Value byPart = matrix.transpose(matrix.unpack(
        matrix.transpose(*packed), rows, matrix.integer(static_cast<unsigned>(fields->bits)),
        fields->bits, 0, 0, fromTop));
    codes = matrix.permuteRows(byPart, {rows / parts, parts}, {1, 0});
  }
  return EncodedWeight{codes,
                       matrix.asF32(*scales),
                       offsetsOf(matrix, *zeros, *factors, groups, parts == 1 ? 128 : 0),
                       {},
                       *held};
}
