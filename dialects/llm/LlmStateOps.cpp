// SPDX-License-Identifier: Apache-2.0
// Verifiers of operations with recurrent state.
#include "dialects/llm/LlmStateOps.h"

#include "dialects/llm/LlmVerifiers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#define GET_OP_CLASSES
#include "dialects/llm/LlmStateOps.cpp.inc"

void LlmDialect::addStateOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmStateOps.cpp.inc"
      >();
}

LogicalResult CausalConvOp::verify() {
  StateType state = getState().getType();
  RankedTensorType weight = typeOf(getWeight()), row = state.getRow();
  int64_t columns = columnsOf(getInput());
  if (state.getBlockTokens() < 1)
    return emitOpError() << "needs recurrent state, not " << state;
  if (weight.getRank() != 2 || weight.getDimSize(0) != columns || weight.getDimSize(1) < 2 ||
      weight.getDimSize(1) > 64)
    return emitOpError() << "the weight must have " << columns << " rows and 2 to 64 columns";
  if (row.getShape() != ArrayRef<int64_t>{weight.getDimSize(1) - 1, columns} ||
      !row.getElementType().isIntOrFloat() || row.getElementType().isInteger())
    return emitOpError() << "rows of the state must be floats [" << weight.getDimSize(1) - 1 << ", "
                         << columns << "]";
  if (getBias() && typeOf(getBias()).getShape() != ArrayRef(columns))
    return emitOpError() << "the bias must have " << columns << " numbers";
  if (columnsOf(getResult()) != columns)
    return emitOpError() << "changes the shape";
  return success();
}
