// SPDX-License-Identifier: Apache-2.0
// Verifiers of the operations of mixtures of experts.
#include "dialects/llm/LlmExpertOps.h"

#include "dialects/llm/LlmVerifiers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#define GET_OP_CLASSES
#include "dialects/llm/LlmExpertOps.cpp.inc"

void LlmDialect::addExpertOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmExpertOps.cpp.inc"
      >();
}

int64_t RouteOp::topK() { return rowsFor(typeOf(getWeights()), typeOf(getLogits())); }

LogicalResult RouteOp::verify() {
  RankedTensorType weights = typeOf(getWeights()), experts = typeOf(getExperts());
  if (weights.getRank() != 1 || experts.getRank() != 1 || !sameRows(weights, experts))
    return emitOpError() << "needs one weight and one expert per row of its results";
  if (topK() < 1)
    return emitOpError() << "results must have rows for each token";
  if (topK() > columnsOf(getLogits()))
    return emitOpError() << "a token has more experts than there are";
  return success();
}

LogicalResult GroupRowsOp::verify() {
  RankedTensorType experts = typeOf(getExperts()), order = typeOf(getOrder()),
                   starts = typeOf(getStarts());
  if (experts.getRank() != 1 || order.getRank() != 1 || !sameRows(experts, order))
    return emitOpError() << "order must have the rows of experts";
  if (starts.getRank() != 1 || !starts.hasStaticShape() || starts.getDimSize(0) < 2)
    return emitOpError() << "starts must have a number for each expert, and one more";
  return success();
}

LogicalResult CombineOp::verify() {
  RankedTensorType input = typeOf(getInput()), weights = typeOf(getWeights());
  if (weights.getRank() != 1 || !sameRows(input, weights))
    return emitOpError() << "needs one weight per row of the input";
  if (columnsOf(getInput()) != columnsOf(getResult()) || rowsFor(input, typeOf(getResult())) < 1)
    return emitOpError() << "result must have a row for some rows of the input";
  return success();
}
