// SPDX-License-Identifier: Apache-2.0
// What the families' verifiers and text forms have in common.
#include "dialects/llm/LlmVerifiers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

LogicalResult llm::verifyInputScales(Operation *op, Value values, Value scales) {
  RankedTensorType type = typeOf(scales);
  if (type.getRank() > 2 || !sameRows(type, typeOf(values)))
    return op->emitOpError() << "needs one scale per row";
  int64_t each = columnsOf(scales);
  if (each < 1 || columnsOf(values) % each != 0)
    return op->emitOpError() << "columns must be whole groups of equal size";
  if (type.getRank() == 2 && !typeOf(values).getElementType().isInteger(8))
    return op->emitOpError() << "only integers are scaled by groups";
  return success();
}

LogicalResult llm::verifyScalarOperands(Operation *op, OperandRange operands,
                                        RankedTensorType result) {
  for (Value operand : operands) {
    RankedTensorType type = typeOf(operand);
    bool full = type.getRank() == 2 && sameRows(type, result) &&
                columnsOf(operand) == result.getShape().back();
    bool column = type.hasStaticShape() && type.getNumElements() == result.getShape().back();
    bool row = sameRows(type, result) && columnsOf(operand) == 1;
    if (!full && !column && !row)
      return op->emitOpError() << "operand " << type << " does not fit result " << result;
  }
  return success();
}

LogicalResult llm::verifyScalarRegion(Operation *op, Region &region, size_t arguments) {
  Block &block = region.front();
  if (block.getNumArguments() != arguments)
    return op->emitOpError() << "region must take " << arguments << " values";
  for (BlockArgument argument : block.getArguments())
    if (!argument.getType().isF32())
      return op->emitOpError() << "region arguments must be f32";
  // The dialect's one terminator.
  if (!block.mightHaveTerminator() || block.getTerminator()->getDialect() != op->getDialect())
    return op->emitOpError() << "region must end in llm.yield";
  for (Operation &inner : block.without_terminator())
    if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             arith::CmpFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::ConstantOp,
             math::ExpOp, math::TanhOp, math::RsqrtOp, math::SqrtOp, math::AbsFOp>(inner))
      return inner.emitOpError() << "is not allowed in a scalar region";
  return success();
}
