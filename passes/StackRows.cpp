// SPDX-License-Identifier: Apache-2.0
// One concatenation a tensor; nothing is evaluated here.
#include "passes/StackRows.h"

#include "dialects/llm/LlmWeightOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ingot;
using llm::EncodedWeight;

Value ingot::stackRows(OpBuilder &builder, Location location, ArrayRef<Value> parts) {
  auto type = cast<RankedTensorType>(parts.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = 0;
  for (Value part : parts)
    shape.front() += cast<RankedTensorType>(part.getType()).getDimSize(0);
  return llm::ConcatRowsOp::create(builder, location, type.clone(shape), parts);
}

EncodedWeight ingot::stackRows(OpBuilder &builder, Location location,
                               ArrayRef<EncodedWeight> weights) {
  return EncodedWeight::mapRows(
      weights, [&](ArrayRef<Value> parts) { return stackRows(builder, location, parts); });
}

bool ingot::isSameTable(Value first, Value second) {
  auto a = first.getDefiningOp<llm::LiteralOp>(), b = second.getDefiningOp<llm::LiteralOp>();
  return first == second || (a && b && a.getValue() == b.getValue());
}

StringRef ingot::stackObstacle(const EncodedWeight &first, const EncodedWeight &other) {
  auto sameElements = [](Value a, Value b) {
    return !a || getElementTypeOrSelf(a) == getElementTypeOrSelf(b);
  };
  if (first.encoding != other.encoding || !sameElements(first.values, other.values) ||
      !sameElements(first.scales, other.scales))
    return "the weights have different formats";
  if (first.facts().hasCodeBook() && !isSameTable(first.zeros, other.zeros))
    return "the weights have different codebooks";
  if (first.facts().scales == kTableScales && !isSameTable(first.superScales, other.superScales))
    return "the weights have different tables of scales";
  return "";
}
