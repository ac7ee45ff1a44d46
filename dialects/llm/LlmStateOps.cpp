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

int64_t GatedDeltaRuleOp::valueDim() {
  return columnsOf(getResult()) / static_cast<int64_t>(getValueHeads());
}

int64_t GatedDeltaRuleOp::keyDim() {
  return (columnsOf(getInput()) - columnsOf(getResult())) /
         (2 * static_cast<int64_t>(getKeyHeads()));
}

int64_t GatedDeltaRuleOp::stateElements(int64_t keyHeads, int64_t valueHeads, int64_t keyDim,
                                        int64_t valueDim, int64_t chunk) {
  return valueHeads * keyDim * valueDim + keyHeads * keyDim * chunk +
         valueHeads * chunk * (1 + valueDim);
}

LogicalResult GatedDeltaRuleOp::verify() {
  StateType state = getState().getType();
  int64_t chunk = state.getBlockTokens(), keyHeads = static_cast<int64_t>(getKeyHeads()),
          valueHeads = static_cast<int64_t>(getValueHeads());
  if (chunk < 1)
    return emitOpError() << "needs recurrent state, not " << state;
  if (chunk > 64)
    return emitOpError() << "blocks of the state must have at most 64 positions, not " << chunk;
  if (keyHeads < 1 || valueHeads < 1 || valueHeads % keyHeads != 0)
    return emitOpError() << "the key heads must divide the value heads";
  int64_t values = columnsOf(getResult()), keys = columnsOf(getInput()) - values;
  if (values % valueHeads != 0 || keys < 1 || keys % (2 * keyHeads) != 0)
    return emitOpError() << "the input must be q and k of " << keyHeads << " heads and v of "
                         << valueHeads << ", which the result is like";
  if (columnsOf(getDecay()) != valueHeads || columnsOf(getGate()) != valueHeads)
    return emitOpError() << "decay and gate must have " << valueHeads << " columns";
  if (typeOf(getLogDecay()).getShape() != ArrayRef(valueHeads) ||
      typeOf(getDecayBias()).getShape() != ArrayRef(valueHeads))
    return emitOpError() << "the weights of the decay must have " << valueHeads << " numbers";
  int64_t elements = stateElements(keyHeads, valueHeads, keyDim(), valueDim(), chunk);
  if (state.getRow().getShape() != ArrayRef(elements) || !state.getRow().getElementType().isF32())
    return emitOpError() << "rows of the state must be floats [" << elements << "] in f32";
  return success();
}
