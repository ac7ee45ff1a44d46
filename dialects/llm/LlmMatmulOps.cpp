// SPDX-License-Identifier: Apache-2.0
// Verifiers of products.
#include "dialects/llm/LlmMatmulOps.h"

#include "dialects/llm/LlmVerifiers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#define GET_OP_CLASSES
#include "dialects/llm/LlmMatmulOps.cpp.inc"

void LlmDialect::addMatmulOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmMatmulOps.cpp.inc"
      >();
}

int64_t MatmulOp::experts() {
  return getStarts() ? typeOf(getStarts()).getDimSize(0) - 1 : int64_t(getHeads().value_or(1));
}

int64_t MatmulOp::expertRows() { return typeOf(getWeight()).getDimSize(0) / experts(); }

/// What `groups` ask of a product besides.
static LogicalResult verifyGroups(MatmulOp op) {
  RankedTensorType order = typeOf(op.getOrder()), starts = typeOf(op.getStarts()),
                   result = typeOf(op.getResult());
  if (order.getRank() != 1 || !sameRows(order, result))
    return op.emitOpError() << "order must have the result's rows";
  if (starts.getRank() != 1 || !starts.hasStaticShape() || starts.getDimSize(0) < 2)
    return op.emitOpError() << "starts must have an offset for each expert, and one more";
  if (rowsFor(result, typeOf(op.getInput())) < 1)
    return op.emitOpError() << "result must have rows for each row of the input";
  int64_t columns = result.getShape().back() * (op.getPairOffset() ? 2 : 1);
  if (typeOf(op.getWeight()).getDimSize(0) != op.experts() * columns)
    return op.emitOpError() << "weight must have a row for each expert and column of the result";
  return success();
}

/// What `heads` ask of a product besides.
static LogicalResult verifyHeads(MatmulOp op) {
  auto heads = int64_t(*op.getHeads());
  if (op.getOrder())
    return op.emitOpError() << "has heads or groups, not both";
  const int64_t columns = columnsOf(op.getResult()) * (op.getPairOffset() ? 2 : 1);
  const int64_t rows = typeOf(op.getWeight()).getDimSize(0);
  if (heads < 1 || rows % heads != 0 || rows / heads < columns)
    return op.emitOpError() << "weight must have a row for each head and column of the result";
  std::optional<RowCount> each = rowCountOf(typeOf(op.getResult()));
  if (!each || each->factor % heads != 0)
    return op.emitOpError() << "result must have rows for each of the " << heads << " heads";
  return success();
}

/// Integers that are scaled by groups on both sides are summed over the shorter ones.
static LogicalResult verifyInputGroups(MatmulOp op) {
  if (failed(verifyInputScales(op, op.getInput(), op.getInputScales())))
    return failure();
  int64_t columns = columnsOf(op.getInput()), own = columns / columnsOf(op.getInputScales());
  int64_t stored = op.getEncoding() ? op.getEncoding()->getGroup() : 0;
  if (own != columns && stored > 0 && own % stored != 0 && stored % own != 0)
    return op.emitOpError() << "groups of " << own << " columns of the input and of " << stored
                            << " of the weight do not fit each other";
  return success();
}

LogicalResult MatmulOp::verify() {
  RankedTensorType input = typeOf(getInput()), weight = typeOf(getWeight()),
                   result = typeOf(getResult());
  if (weight.getRank() != 2 || input.getShape().back() != weight.getShape().back())
    return emitOpError() << "input " << input << " and weight " << weight
                         << " differ in their inner size";
  if (static_cast<bool>(getOrder()) != static_cast<bool>(getStarts()))
    return emitOpError() << "order and starts go together";
  if (getOrder() && failed(verifyGroups(*this)))
    return failure();
  if (getHeads() && failed(verifyHeads(*this)))
    return failure();
  if (!getOrder() && !sameRows(input, result))
    return emitOpError() << "result must have the input's rows";
  int64_t columns = result.getShape().back() * (getPairOffset() ? 2 : 1);
  if (weight.getShape().front() < columns)
    return emitOpError() << "weight has fewer rows than the result has columns";
  if (getPairOffset() && (*getPairOffset() < 1 || getEpilogue().empty()))
    return emitOpError() << "a pair needs a positive offset and an epilogue";
  if ((input.getElementTypeBitWidth() == 8) != static_cast<bool>(getInputScales()))
    return emitOpError() << "input scales go with an 8-bit input and only with it";
  if (getInputScales() && failed(verifyInputGroups(*this)))
    return failure();
  if (input.getElementType().isInteger(8) && !weight.getElementType().isInteger())
    return emitOpError() << "an integer input needs an integer weight";
  return verifyScalarOperands(*this, getEpilogueOperands(), result);
}

LogicalResult MatmulOp::verifyRegions() {
  if (getEpilogue().empty())
    return success();
  size_t sums = getPairOffset() ? 2 : 1;
  return verifyScalarRegion(*this, getEpilogue(), sums + getEpilogueOperands().size());
}
