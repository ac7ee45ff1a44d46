// SPDX-License-Identifier: Apache-2.0
// One concatenation; nothing is evaluated here.
#include "passes/StackRows.h"

#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;

Value ingot::stackRows(OpBuilder &builder, Location location, ArrayRef<Value> parts) {
  if (!parts.front())
    return {};
  auto type = cast<RankedTensorType>(parts.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = 0;
  for (Value part : parts)
    shape.front() += cast<RankedTensorType>(part.getType()).getDimSize(0);
  return llm::ConcatRowsOp::create(builder, location, type.clone(shape), parts);
}

bool ingot::isSameBook(Value first, Value second) {
  auto a = first.getDefiningOp<llm::LiteralOp>(), b = second.getDefiningOp<llm::LiteralOp>();
  return first == second || (a && b && a.getValue() == b.getValue());
}
