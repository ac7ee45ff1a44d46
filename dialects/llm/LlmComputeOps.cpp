// SPDX-License-Identifier: Apache-2.0
// Verifiers of the operations on activations.
#include "dialects/llm/LlmComputeOps.h"

#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmVerifiers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#define GET_OP_CLASSES
#include "dialects/llm/LlmComputeOps.cpp.inc"

void LlmDialect::addComputeOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmComputeOps.cpp.inc"
      >();
}

static LogicalResult verifySameShape(Operation *op, RankedTensorType a, RankedTensorType b) {
  if (a.getShape() == b.getShape() && a.getEncoding() == b.getEncoding())
    return success();
  return op->emitOpError() << a << " and " << b << " must have the same shape";
}

LogicalResult EmbedOp::verify() {
  RankedTensorType result = typeOf(getResult());
  if (!sameRows(typeOf(getTokens()), result) || columnsOf(getTable()) != columnsOf(getResult()))
    return emitOpError() << "result must be one row of the table per token";
  return success();
}

int64_t NormOp::normedColumns() {
  return getHeadDim() ? static_cast<int64_t>(*getHeadDim()) : columnsOf(getInput());
}

bool NormOp::headsDiffer() {
  Value numbers = getWeight() ? getWeight() : getBias();
  return numbers && typeOf(numbers).getNumElements() > normedColumns();
}

/// `scale`: of the checkpoint, which all rows have in place of their own, if there is one.
static LogicalResult verifyQuantized(Operation *op, Value values, Value scales, Value scale) {
  if (failed(verifyInputScales(op, values, scales)))
    return failure();
  if (!scale)
    return success();
  if (typeOf(scales).getRank() == 2)
    return op->emitOpError() << "groups have scales of their own";
  if (!typeOf(scale).getElementType().isF32() || typeOf(scale).getShape() != ArrayRef<int64_t>{1})
    return op->emitOpError() << "a static scale is one f32";
  return success();
}

LogicalResult NormOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(verifySameShape(*this, input, typeOf(getResult()))))
    return failure();
  if (getResidual() && failed(verifySameShape(*this, input, typeOf(getResidual()))))
    return failure();
  if (getSum() && failed(verifySameShape(*this, input, typeOf(getSum()))))
    return failure();
  if (normedColumns() < 1 || columnsOf(getInput()) % normedColumns() != 0)
    return emitOpError() << "columns must be whole heads";
  if (getHeadDim() && (getResidual() || getSum() || getScales()))
    return emitOpError() << "a norm of heads neither adds nor quantizes";
  const int64_t numbers = headsDiffer() ? columnsOf(getInput()) : normedColumns();
  if (getWeight() && typeOf(getWeight()).getNumElements() != numbers)
    return emitOpError() << "weight must have one factor per column";
  if (getBias() && typeOf(getBias()).getNumElements() != numbers)
    return emitOpError() << "bias must have one value per column, as the weight has";
  bool quantized = typeOf(getResult()).getElementTypeBitWidth() == 8;
  if (quantized != static_cast<bool>(getScales()))
    return emitOpError() << "scales go with an 8-bit result and only with it";
  if (quantized != getStore().has_value())
    return emitOpError() << "a store type goes with an 8-bit result and only with it";
  if (getStaticScale() && !quantized)
    return emitOpError() << "a static scale needs an 8-bit result";
  return quantized ? verifyQuantized(*this, getResult(), getScales(), getStaticScale()) : success();
}

LogicalResult PointwiseOp::verify() {
  return verifyScalarOperands(*this, getInputs(), typeOf(getResult()));
}

LogicalResult PointwiseOp::verifyRegions() {
  return verifyScalarRegion(*this, getBody(), getInputs().size());
}

LogicalResult RoundOp::verify() {
  return verifySameShape(*this, typeOf(getInput()), typeOf(getResult()));
}

LogicalResult QuantizeActivationOp::verify() {
  if (failed(verifySameShape(*this, typeOf(getInput()), typeOf(getResult()))))
    return failure();
  return verifyQuantized(*this, getResult(), getScales(), getStaticScale());
}

LogicalResult SliceColumnsOp::verify() {
  int64_t first = getFirst();
  if (first < 0 || first + columnsOf(getResult()) > columnsOf(getInput()))
    return emitOpError() << "columns reach past the input";
  if (!sameRows(typeOf(getInput()), typeOf(getResult())))
    return emitOpError() << "result must have the input's rows";
  return success();
}

LogicalResult GatherColumnsOp::verify() {
  if (typeOf(getColumns()).getShape() != ArrayRef<int64_t>{columnsOf(getResult())})
    return emitOpError() << "needs one index for each column of the result";
  if (!sameRows(typeOf(getInput()), typeOf(getResult())))
    return emitOpError() << "result must have the input's rows";
  return success();
}

LogicalResult GatherRowsOp::verify() {
  if (!sameRows(typeOf(getRows()), typeOf(getResult())) ||
      columnsOf(getInput()) != columnsOf(getResult()))
    return emitOpError() << "result must be one row of the input per index";
  return success();
}

LogicalResult JoinRowsOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  const int64_t joined = rowsFor(input, result);
  if (joined < 1 || columnsOf(getResult()) != joined * columnsOf(getInput()))
    return emitOpError() << "result must have a row for some rows of the input, as wide as these";
  return success();
}

LogicalResult SplitRowsOp::verify() {
  const int64_t parts = rowsFor(typeOf(getResult()), typeOf(getInput()));
  if (parts < 1 || columnsOf(getInput()) != parts * columnsOf(getResult()))
    return emitOpError() << "result must have some rows for each of the input, as wide in all";
  return success();
}

LogicalResult PlaceRowsOp::verify() {
  if (!sameRows(typeOf(getPlaces()), typeOf(getRows())) || typeOf(getPlaces()).getRank() != 1)
    return emitOpError() << "needs one place for each row";
  if (columnsOf(getGiven()) != columnsOf(getRows()))
    return emitOpError() << "given rows must have " << columnsOf(getRows()) << " columns";
  return success();
}
