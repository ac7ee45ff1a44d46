// SPDX-License-Identifier: Apache-2.0
// Verifiers of the operations on activations.
#include "dialects/llm/LlmDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

/// An encoding that may be absent, as `<"int8", group = 0, zero_points = false>` or by alias: the
/// full form would take the colon after it for its own.
static ParseResult parseEncoding(OpAsmParser &parser, EncodingAttr &encoding) {
  SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseOptionalLess())) {
    Attribute alias;
    OptionalParseResult found = parser.parseOptionalAttribute(alias);
    if (!found.has_value())
      return success();
    encoding = dyn_cast_or_null<EncodingAttr>(alias);
    return encoding ? success() : parser.emitError(location, "expected an encoding");
  }
  std::string kind;
  int64_t group = 0;
  StringRef zeroPoints;
  if (parser.parseString(&kind) || parser.parseComma() || parser.parseKeyword("group") ||
      parser.parseEqual() || parser.parseInteger(group) || parser.parseComma() ||
      parser.parseKeyword("zero_points") || parser.parseEqual() || parser.parseKeyword(&zeroPoints))
    return failure();
  FailureOr<ScaleForm> scales = ScaleForm::Plain;
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("scales") || parser.parseEqual())
      return failure();
    scales = parseScaleForm(parser);
  }
  if (failed(scales) || parser.parseGreater())
    return failure();
  if (zeroPoints != "true" && zeroPoints != "false")
    return parser.emitError(location, "zero_points must be true or false");
  encoding =
      EncodingAttr::getChecked([&] { return parser.emitError(location); }, parser.getContext(),
                               StringRef(kind), group, zeroPoints == "true", *scales);
  return success(encoding != nullptr);
}

static void printEncoding(OpAsmPrinter &printer, Operation *, EncodingAttr encoding) {
  if (encoding)
    printer.printStrippedAttrOrType(encoding);
}

#define GET_OP_CLASSES
#include "dialects/llm/LlmOps.cpp.inc"

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether two activations have the same rows (static extent and encoding).
static bool sameRows(RankedTensorType a, RankedTensorType b) {
  return a.getShape().front() == b.getShape().front() && a.getEncoding() == b.getEncoding();
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
  if (getEncoding().has_value() != static_cast<bool>(getScales()))
    return emitOpError() << "scales go with an encoding and only with it";
  return success();
}

int64_t RmsNormOp::normedColumns() {
  return getHeadDim() ? static_cast<int64_t>(*getHeadDim()) : columnsOf(getInput());
}

/// The scales of `values`, an 8-bit activation: by rows, or by equal groups of their columns.
static LogicalResult verifyInputScales(Operation *op, Value values, Value scales) {
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

LogicalResult RmsNormOp::verify() {
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
  if (getWeight() && typeOf(getWeight()).getNumElements() != normedColumns())
    return emitOpError() << "weight must have one factor per column";
  bool quantized = typeOf(getResult()).getElementTypeBitWidth() == 8;
  if (quantized != static_cast<bool>(getScales()))
    return emitOpError() << "scales go with an 8-bit result and only with it";
  if (quantized != getStore().has_value())
    return emitOpError() << "a store type goes with an 8-bit result and only with it";
  if (getStaticScale() && !quantized)
    return emitOpError() << "a static scale needs an 8-bit result";
  return quantized ? verifyQuantized(*this, getResult(), getScales(), getStaticScale()) : success();
}

/// An operand of an epilogue must be addressed by row and column, by column, or by row.
static LogicalResult verifyScalarOperands(Operation *op, OperandRange operands,
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

/// The region must take `arguments` f32 values and hold allowed scalar operations only.
static LogicalResult verifyScalarRegion(Operation *op, Region &region, size_t arguments) {
  Block &block = region.front();
  if (block.getNumArguments() != arguments)
    return op->emitOpError() << "region must take " << arguments << " values";
  for (BlockArgument argument : block.getArguments())
    if (!argument.getType().isF32())
      return op->emitOpError() << "region arguments must be f32";
  if (block.empty() || !isa<YieldOp>(block.back()))
    return op->emitOpError() << "region must end in llm.yield";
  for (Operation &inner : block.without_terminator())
    if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             arith::CmpFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::ConstantOp,
             math::ExpOp, math::TanhOp, math::RsqrtOp, math::SqrtOp, math::AbsFOp>(inner))
      return inner.emitOpError() << "is not allowed in a scalar region";
  return success();
}

int64_t MatmulOp::experts() { return getStarts() ? typeOf(getStarts()).getDimSize(0) - 1 : 1; }

int64_t MatmulOp::expertRows() { return typeOf(getWeight()).getDimSize(0) / experts(); }

/// What `groups` ask of a product besides.
static LogicalResult verifyGroups(MatmulOp op) {
  RankedTensorType order = typeOf(op.getOrder()), starts = typeOf(op.getStarts()),
                   result = typeOf(op.getResult());
  if (order.getRank() != 1 || !sameRows(order, result))
    return op.emitOpError() << "order must have the result's rows";
  if (starts.getRank() != 1 || !starts.hasStaticShape() || starts.getDimSize(0) < 2)
    return op.emitOpError() << "starts must have a number for each expert, and one more";
  if (rowsFor(result, typeOf(op.getInput())) < 1)
    return op.emitOpError() << "result must have rows for each row of the input";
  int64_t columns = result.getShape().back() * (op.getPairOffset() ? 2 : 1);
  if (typeOf(op.getWeight()).getDimSize(0) != op.experts() * columns)
    return op.emitOpError() << "weight must have a row for each expert and column of the result";
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
  if (getEncoding().has_value() != static_cast<bool>(getScales()))
    return emitOpError() << "scales go with an encoding and only with it";
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
