// SPDX-License-Identifier: Apache-2.0
// Verifiers of the weight operations.
#include "dialects/llm/LlmWeightOps.h"

#include "dialects/llm/LlmVerifiers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#define GET_OP_CLASSES
#include "dialects/llm/LlmWeightOps.cpp.inc"

void LlmDialect::addWeightOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmWeightOps.cpp.inc"
      >();
}

LogicalResult WeightOp::verify() {
  if (getName().empty() || getFile().empty())
    return emitOpError() << "needs a tensor name and a file";
  if (static_cast<int64_t>(getOffset()) < 0)
    return emitOpError() << "offset is negative";
  return success();
}

LogicalResult LiteralOp::verify() {
  if (getValue().getShapedType() != getType())
    return emitOpError() << "value and result have different types";
  return success();
}

LogicalResult ConvertOp::verify() {
  if (typeOf(getInput()).getShape() != typeOf(getResult()).getShape())
    return emitOpError() << "changes the shape";
  return success();
}

LogicalResult QuantizeOp::verify() {
  if (typeOf(getInput()).getShape() != typeOf(getValues()).getShape())
    return emitOpError() << "values must have the input's shape";
  if (getEncoding().getZeroPoints() && getEncoding().facts().bits() >= 8)
    return emitOpError() << "makes zero points of fewer than 8 bits only";
  return verifyEncoded(*this, {getValues(), getScales(), getZeros(), {}, getEncoding()});
}

LogicalResult DequantizeOp::verify() {
  if (typeOf(getValues()).getShape() != typeOf(getResult()).getShape())
    return emitOpError() << "result must have the values' shape";
  return success();
}

LogicalResult UnpackOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  auto wide = dyn_cast<IntegerType>(input.getElementType());
  int64_t bits = getBits();
  if (!wide || wide.getWidth() % 8 != 0)
    return emitOpError() << "input must be integers of whole bytes";
  if (bits < 1 || bits > 8)
    return emitOpError() << "fields have 1 to 8 bits";
  if (input.getRank() != 2 || result.getRank() != 2 ||
      input.getShape().front() != result.getShape().front())
    return emitOpError() << "needs matrices of equally many rows";
  int64_t least = -static_cast<int64_t>(getBias()), most = least + (int64_t{1} << bits) - 1;
  auto narrow = dyn_cast<IntegerType>(result.getElementType());
  if (!narrow || narrow.getWidth() > 8 || engine::elementBits(narrow) == 0)
    return emitOpError() << "makes integers of at most 8 bits only";
  // Bytes may be signed or not.
  bool isByte = narrow.getWidth() == 8;
  if (isByte ? least < -128 || most > 255 : least < 0 || most >= 1 << narrow.getWidth())
    return emitOpError() << "result cannot hold every field";
  SmallVector<int64_t> order(getOrder()),
      inOrder = llvm::to_vector(llvm::seq<int64_t>(0, order.size()));
  llvm::sort(order);
  if (order != inOrder)
    return emitOpError() << "order must have each number from 0 once";
  int64_t period = std::max<int64_t>(order.size(), 1);
  int64_t fields = (columnsOf(getResult()) + period - 1) / period * period;
  if (fields * bits > columnsOf(getInput()) * int64_t(wide.getWidth()))
    return emitOpError() << "a row has too few bits for " << columnsOf(getResult()) << " fields";
  return success();
}

LogicalResult BlockPartOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  int64_t block = getBlock();
  if (!llvm::is_contained({"values", "scales", "offsets", "super_scales"}, getPart()))
    return emitOpError() << "blocks have no part '" << getPart() << "'";
  if (!input.getElementType().isInteger(8) || input.getRank() != 2 || result.getRank() != 2)
    return emitOpError() << "needs a matrix of bytes";
  if (block < 1 || input.getShape().back() % block != 0)
    return emitOpError() << "a row is no whole number of blocks";
  if (result.getShape().front() != input.getShape().front() ||
      result.getShape().back() % (input.getShape().back() / block) != 0)
    return emitOpError() << "result must have as many elements of each block";
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (input.getRank() != 2 || result.getRank() != 2 ||
      input.getElementType() != result.getElementType() ||
      input.getShape()[0] != result.getShape()[1] || input.getShape()[1] != result.getShape()[0])
    return emitOpError() << input << " cannot become " << result;
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (input.getElementType() != result.getElementType() ||
      input.getNumElements() != result.getNumElements())
    return emitOpError() << "changes more than the shape";
  return success();
}

LogicalResult AddLowRankOp::verify() {
  ArrayRef<int64_t> weight = typeOf(getInput()).getShape(), left = typeOf(getLeft()).getShape(),
                    right = typeOf(getRight()).getShape();
  if (weight.size() != 2 || left.size() != 2 || right.size() != 2 || left[0] != weight[0] ||
      right[1] != weight[1] || left[1] != right[0])
    return emitOpError() << "left and right do not multiply to the weight's shape";
  if (typeOf(getResult()).getShape() != weight)
    return emitOpError() << "changes the shape";
  return success();
}

LogicalResult RepeatRowsOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  int64_t count = getCount();
  if (count < 1)
    return emitOpError() << "count must be positive";
  if (input.getElementType() != result.getElementType() ||
      input.getShape().drop_front() != result.getShape().drop_front())
    return emitOpError() << "changes more than the rows";
  if ((result.getShape().front() + count - 1) / count > input.getShape().front())
    return emitOpError() << input.getShape().front() << " rows " << count << " times are not "
                         << result.getShape().front() << " rows";
  return success();
}

LogicalResult SliceRowsOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (input.getElementType() != result.getElementType() ||
      input.getShape().drop_front() != result.getShape().drop_front())
    return emitOpError() << "changes more than the rows";
  int64_t first = getFirst(), rows = input.getShape().front();
  if (first < 0 || first > rows || result.getShape().front() > rows - first)
    return emitOpError() << "takes rows that the input does not have";
  return success();
}

LogicalResult ConcatRowsOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "needs an input";
  RankedTensorType result = typeOf(getResult());
  int64_t rows = 0;
  for (Value input : getInputs()) {
    RankedTensorType type = typeOf(input);
    if (type.getShape().drop_front() != result.getShape().drop_front() ||
        type.getElementType() != result.getElementType())
      return emitOpError() << "input " << type << " cannot be stacked into " << result;
    rows += type.getShape().front();
  }
  if (rows != result.getShape().front())
    return emitOpError() << "result must have " << rows << " rows";
  return success();
}

LogicalResult InterleaveRowsOp::verify() {
  RankedTensorType first = typeOf(getFirst()), result = typeOf(getResult());
  int64_t block = getBlock();
  if (first != typeOf(getSecond()))
    return emitOpError() << "both inputs must have the same type";
  if (block < 1)
    return emitOpError() << "block must be positive";
  int64_t rows = (first.getShape().front() + block - 1) / block * block * 2;
  if (result.getShape().front() != rows ||
      result.getShape().drop_front() != first.getShape().drop_front())
    return emitOpError() << "result must have " << rows << " rows of the inputs' width";
  return success();
}

LogicalResult PermuteRowsOp::verify() {
  constexpr size_t mostDigits = 8;
  ArrayRef<int64_t> digits = getDigits(), order = getOrder();
  if (digits.empty() || digits.size() > mostDigits || digits.size() != order.size())
    return emitOpError() << "needs 1 to " << mostDigits << " digits and an order of as many";
  int64_t rows = 1;
  for (int64_t digit : digits)
    if (digit < 1 || llvm::MulOverflow(rows, digit, rows))
      return emitOpError() << "digits must be positive, and their product no more than 63 bits";
  if (rows != typeOf(getInput()).getShape().front())
    return emitOpError() << "digits are those of " << rows << " rows";
  for (size_t digit = 0; digit < digits.size(); ++digit)
    if (llvm::count(order, static_cast<int64_t>(digit)) != 1)
      return emitOpError() << "order must name each digit once";
  return success();
}

LogicalResult ScaleColumnsOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (typeOf(getFactors()).getShape() != input.getShape().take_back())
    return emitOpError() << "needs one factor per column";
  if (typeOf(getResult()).getShape() != input.getShape())
    return emitOpError() << "changes the shape";
  return success();
}

LogicalResult PackOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  auto layout = dyn_cast_or_null<engine::LayoutAttr>(result.getEncoding());
  if (!layout)
    return emitOpError() << "result needs a layout";
  if (input.getShape() != result.getShape() || input.getElementType() != result.getElementType())
    return emitOpError() << "changes more than the layout";
  int64_t rows = input.getShape().front(), columns = columnsOf(getInput());
  if (layout.extent(0) < rows || layout.extent(1) < columns)
    return emitOpError() << "layout has no place for " << rows << " x " << columns << " elements";
  return success();
}
