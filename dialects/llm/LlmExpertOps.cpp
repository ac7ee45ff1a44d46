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
  const int64_t count = columnsOf(getLogits());
  if (getBias() && typeOf(getBias()).getNumElements() != count)
    return emitOpError() << "bias must have one value per expert";
  if (!getGroups())
    return success();
  ArrayRef<int64_t> groups = *getGroups();
  if (groups.size() != 3 || groups[0] < 1 || count % groups[0] != 0 || groups[1] < 1 ||
      groups[1] > groups[0] || groups[2] < 1 || groups[2] > 2 || groups[2] > count / groups[0])
    return emitOpError() << "groups must be [count, kept, best], with a count that divides the "
                            "experts, kept up to it, and best 1 or 2 of an own";
  if (topK() > count / groups[0] * groups[1])
    return emitOpError() << "a token has more experts than are in the groups that are kept";
  return success();
}

LogicalResult GroupRowsOp::verify() {
  RankedTensorType experts = typeOf(getExperts()), order = typeOf(getOrder()),
                   starts = typeOf(getStarts());
  if (experts.getRank() != 1 || order.getRank() != 1 || !sameRows(experts, order))
    return emitOpError() << "order must have the rows of experts";
  if (starts.getRank() != 1 || !starts.hasStaticShape() || starts.getDimSize(0) < 2)
    return emitOpError() << "starts must have an offset for each expert, and one more";
  return success();
}

LogicalResult CombineOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (getWeights() &&
      (typeOf(getWeights()).getRank() != 1 || !sameRows(input, typeOf(getWeights()))))
    return emitOpError() << "needs one weight per row of the input";
  if (columnsOf(getInput()) != columnsOf(getResult()) || rowsFor(input, typeOf(getResult())) < 1)
    return emitOpError() << "result must have a row for some rows of the input";
  return success();
}
