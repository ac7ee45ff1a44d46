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

/// Columns of a head: of v, which the result is like, and of q and k, whose heads are beside it.
template <class Op> static int64_t valueDimOf(Op op) {
  return columnsOf(op.getResult()) / static_cast<int64_t>(op.getValueHeads());
}
template <class Op> static int64_t keyDimOf(Op op) {
  return (columnsOf(op.getInput()) - columnsOf(op.getResult())) /
         (2 * static_cast<int64_t>(op.getKeyHeads()));
}

int64_t GatedDeltaRuleOp::valueDim() { return valueDimOf(*this); }
int64_t GatedDeltaRuleOp::keyDim() { return keyDimOf(*this); }
int64_t StateSpaceOp::valueDim() { return valueDimOf(*this); }
int64_t StateSpaceOp::keyDim() { return keyDimOf(*this); }

int64_t GatedDeltaRuleOp::stateElements(int64_t keyHeads, int64_t valueHeads, int64_t keyDim,
                                        int64_t valueDim, int64_t chunk) {
  return valueHeads * keyDim * valueDim + keyHeads * keyDim * chunk +
         valueHeads * chunk * (1 + valueDim);
}

/// Of heads with a matrix as state. `numbers`: that each have one for each head of values.
template <class Op>
static LogicalResult verifyMatrices(Op op, ArrayRef<Value> columns, ArrayRef<Value> numbers) {
  StateType state = op.getState().getType();
  int64_t chunk = state.getBlockTokens(), keyHeads = static_cast<int64_t>(op.getKeyHeads()),
          valueHeads = static_cast<int64_t>(op.getValueHeads());
  if (chunk < 1)
    return op.emitOpError() << "needs recurrent state, not " << state;
  if (chunk > 64)
    return op.emitOpError() << "blocks of the state must have at most 64 positions, not " << chunk;
  if (keyHeads < 1 || valueHeads < 1 || valueHeads % keyHeads != 0)
    return op.emitOpError() << "the key heads must divide the value heads";
  int64_t values = columnsOf(op.getResult()), keys = columnsOf(op.getInput()) - values;
  if (values % valueHeads != 0 || keys < 1 || keys % (2 * keyHeads) != 0)
    return op.emitOpError() << "the input must be q and k of " << keyHeads << " heads and v of "
                            << valueHeads << ", which the result is like";
  for (Value each : columns)
    if (columnsOf(each) != valueHeads)
      return op.emitOpError() << "decay and gate must have " << valueHeads << " columns";
  for (Value each : numbers)
    if (typeOf(each).getShape() != ArrayRef(valueHeads))
      return op.emitOpError() << "the weights of the decay must have " << valueHeads << " numbers";
  int64_t elements =
      GatedDeltaRuleOp::stateElements(keyHeads, valueHeads, op.keyDim(), op.valueDim(), chunk);
  if (state.getRow().getShape() != ArrayRef(elements) || !state.getRow().getElementType().isF32())
    return op.emitOpError() << "rows of the state must be floats [" << elements << "] in f32";
  return success();
}

LogicalResult GatedDeltaRuleOp::verify() {
  return verifyMatrices(*this, {getDecay(), getGate()}, {getLogDecay(), getDecayBias()});
}

LogicalResult StateSpaceOp::verify() {
  if (!(getLeast().convertToFloat() >= 0 && getLeast() <= getMost()))
    return emitOpError() << "the least step must not be above the most";
  return verifyMatrices(*this, {getDelta()}, {getLogDecay(), getDeltaBias(), getSkip()});
}
