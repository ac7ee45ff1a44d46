// SPDX-License-Identifier: Apache-2.0
// The engine dialect and its attributes.
#include "dialects/engine/EngineDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot::engine;

#include "dialects/engine/EngineDialect.cpp.inc"

#include "dialects/engine/EngineEnums.cpp.inc"

/// The rows of a tensor map: a number, or an expression in quotes.
static ParseResult parseTensorRows(AsmParser &parser, ExprAttr &rows) {
  SMLoc location = parser.getCurrentLocation();
  std::string text;
  int64_t number = 0;
  OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  if (isNumber.has_value() ? failed(*isNumber) : failed(parser.parseString(&text)))
    return failure();
  std::optional<Expr> expression =
      Expr::parse(isNumber.has_value() ? std::to_string(number) : text);
  if (!expression)
    return parser.emitError(location) << "these rows are no expression over dims";
  rows = ExprAttr::get(parser.getContext(), expression->str());
  return success();
}

static void printTensorRows(AsmPrinter &printer, ExprAttr rows) {
  if (std::optional<int64_t> number = rows.constantValue())
    printer << *number;
  else
    printer.printString(rows.getText());
}

#define GET_ATTRDEF_CLASSES
#include "dialects/engine/EngineAttributes.cpp.inc"

void EngineDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/engine/EngineAttributes.cpp.inc"
      >();
  addOps();
}

LogicalResult EngineDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verifyDeclared(op, attribute, getTargetAttrHelper(), getTuningAttrHelper(),
                        getDeterminismAttrHelper(), getTuningCandidatesAttrHelper());
}

LogicalResult SumsAttr::verify(function_ref<InFlightDiagnostic()> emitError, SumUnit unit,
                               int64_t width, int64_t group, int64_t segment, int64_t parts,
                               bool fields) {
  constexpr int64_t kHalvesWidth = 32;
  bool fits = unit <= SumUnit::Columns  ? width == 1
              : unit == SumUnit::Pairs  ? width == 2
              : unit == SumUnit::Halves ? width >= 2 && width % 2 == 0 && width <= kHalvesWidth
                                        : width >= 1;
  if (!fits)
    return emitError() << stringifySumUnit(unit) << " cannot have " << width << " columns";
  if (group < 0 || segment < -1 || parts < 1)
    return emitError() << "sums need a group and a segment of columns and at least one part";
  if (fields && unit != SumUnit::Pairs && unit != SumUnit::Halves)
    return emitError() << "columns change places in pairs and halves alone";
  if (unit == SumUnit::Integers && (segment != 0 || parts != 1))
    return emitError() << "sums of integers are exact: they have no segments and no parts";
  return success();
}

bool SumsAttr::admits(SumsAttr kernel) const {
  if (!kernel || getSegment() != -1)
    return kernel == *this;
  return kernel.getSegment() >= 0 &&
         get(getContext(), kernel.getUnit(), kernel.getWidth(), kernel.getGroup(), getSegment(),
             kernel.getParts(), kernel.getFields()) == *this;
}

std::string SumsAttr::text() const {
  std::string text;
  llvm::raw_string_ostream(text) << *this;
  StringRef whole = text;
  return whole.drop_front(whole.find('<') + 1).drop_back().str();
}

LogicalResult ExprAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef text) {
  if (Expr::parse(text))
    return success();
  return emitError() << "'" << text << "' is not an expression over dims";
}

std::optional<int64_t> ExprAttr::constantValue() const {
  return Expr::parse(getText())->evaluate([](StringRef) { return std::nullopt; });
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(getText());
  printer << ">";
}

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  std::string text;
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  std::optional<Expr> expression = Expr::parse(text);
  if (!expression) {
    parser.emitError(location) << "'" << text << "' is not an expression over dims";
    return {};
  }
  return get(parser.getContext(), expression->str());
}

LogicalResult RangeAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef dim,
                                int64_t min, int64_t max) {
  if (min <= max)
    return success();
  return emitError() << "range of " << dim << " is empty: " << min << " to " << max;
}

LogicalResult TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t buffer,
                                    ExprAttr rows, int64_t rowBytes, int64_t boxRows,
                                    int64_t boxBytes, Type element, int64_t swizzle, bool fenced) {
  constexpr int64_t kStep = 16, kMostInBox = 256, kMostSize = 0xffffffff;
  auto isRow = [](int64_t bytes, int64_t most) {
    return bytes > 0 && bytes % kStep == 0 && bytes <= most;
  };
  int64_t bits = element ? elementBits(element) : 64;
  if (bits < 8)
    return emitError() << "a tensor map has elements of 1, 2, 4 or 8 bytes";
  int64_t fixed = rows.constantValue().value_or(1);
  if (buffer < 0 || fixed < 1 || fixed > kMostSize || !isRow(rowBytes, kMostSize))
    return emitError() << "a tensor map reads rows of a buffer, whose bytes are a multiple of "
                       << kStep;
  int64_t mostBytes = kMostInBox * bits / 8;
  if (boxRows < 1 || boxRows > kMostInBox || !isRow(boxBytes, mostBytes))
    return emitError() << "a tensor map's box has 1 to " << kMostInBox << " rows of at most "
                       << mostBytes << " bytes, a multiple of " << kStep;
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle) || (swizzle && boxBytes > swizzle))
    return emitError() << "a tensor map swizzles by 32, 64 or 128 bytes, which hold a row of its "
                          "box";
  return success();
}

ingot::ElementType TensorMapAttr::elementType() const {
  return getElement() ? elementTypeOf(getElement()) : kU64;
}

//===- LayoutAttr ---------------------------------------------------------------------------===//

SmallVector<LayoutAttr::Digit> LayoutAttr::digitList() const {
  SmallVector<Digit> list;
  ArrayRef<int64_t> flat = getDigits();
  for (size_t i = 0; i + 2 < flat.size(); i += 3)
    list.push_back({flat[i], flat[i + 1], flat[i + 2]});
  return list;
}

int64_t LayoutAttr::places() const {
  int64_t product = 1;
  for (Digit digit : digitList())
    product *= digit.radix;
  return product;
}

int64_t LayoutAttr::extent(int64_t axis) const {
  int64_t last = 0;
  for (Digit digit : digitList())
    if (digit.axis == axis)
      last += digit.stride * (digit.radix - 1);
  return last + 1;
}

int64_t LayoutAttr::rowBlock() const {
  Digit outer = digitList().front();
  return outer.axis == 0 ? outer.stride : extent(0);
}

LayoutAttr LayoutAttr::rowMajor(MLIRContext *context, int64_t rows, int64_t cols) {
  return get(context, {0, 1, rows, 1, 1, cols});
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> digits) {
  if (digits.empty() || digits.size() % 3 != 0)
    return emitError() << "a layout is a list of (axis, stride, radix) digits";
  // Keeps sizes in bits, and products of extents, within 64 bits.
  constexpr int64_t kMaxPlaces = int64_t(1) << 48;
  int64_t places = 1;
  // Per axis the digits, sorted by stride, must form a mixed-radix system: each stride is the
  // product of the smaller radices, so that every index has exactly one place.
  for (int64_t axis : {int64_t(0), int64_t(1)}) {
    SmallVector<std::pair<int64_t, int64_t>> byStride;
    for (size_t i = 0; i < digits.size(); i += 3)
      if (digits[i] == axis)
        byStride.push_back({digits[i + 1], digits[i + 2]});
    llvm::sort(byStride);
    int64_t product = 1;
    for (auto [stride, radix] : byStride) {
      if (radix < 1 || (stride != product && radix != 1))
        return emitError() << "digits along axis " << axis << " are no mixed-radix system";
      if (llvm::MulOverflow(product, radix, product) || llvm::MulOverflow(places, radix, places) ||
          places > kMaxPlaces)
        return emitError() << "layout has more indices than any weight has elements";
    }
  }
  for (size_t i = 0; i < digits.size(); i += 3)
    if (digits[i] != 0 && digits[i] != 1)
      return emitError() << "axis must be 0 or 1";
  return success();
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(digitList(), printer, [&](Digit digit) {
    printer << "[" << digit.axis << ", " << digit.stride << ", " << digit.radix << "]";
  });
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> digits;
  auto parseDigit = [&]() -> ParseResult {
    size_t before = digits.size();
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
          return parser.parseInteger(digits.emplace_back());
        }))
      return failure();
    if (digits.size() - before != 3)
      return parser.emitError(parser.getNameLoc(), "a digit is [axis, stride, radix]");
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseDigit))
    return {};
  return parser.getChecked<LayoutAttr>(parser.getContext(), digits);
}

//===- Free functions -----------------------------------------------------------------------===//

Type ingot::engine::typeFor(MLIRContext *context, ElementType element) {
  auto bits = static_cast<unsigned>(ingot::elementBits(element));
  switch (element) {
  case kF32:
    return Float32Type::get(context);
  case kF16:
    return Float16Type::get(context);
  case kBf16:
    return BFloat16Type::get(context);
  case kE4m3:
    return Float8E4M3FNType::get(context);
  case kE5m2:
    return Float8E5M2Type::get(context);
  case kF64:
    return Float64Type::get(context);
  case kU4:
  case kU8:
  case kU16:
  case kU32:
  case kU64:
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  default:
    return IntegerType::get(context, bits);
  }
}

std::optional<ingot::ElementType> ingot::engine::findElementType(Type element) {
  for (int type = 0; type < kElementTypes; ++type)
    if (typeFor(element.getContext(), ElementType(type)) == element)
      return ElementType(type);
  return std::nullopt;
}

int64_t ingot::engine::elementBits(Type element) {
  std::optional<ElementType> type = findElementType(element);
  return type ? ingot::elementBits(*type) : 0;
}

int64_t ingot::engine::storedBytes(RankedTensorType type) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  int64_t places = layout ? layout.places() : type.getNumElements();
  return bytesOfPlaces(places, elementBits(type.getElementType()));
}

ExprAttr ingot::engine::getExpr(MLIRContext *context, StringRef text) {
  std::optional<Expr> expression = Expr::parse(text);
  assert(expression && "not an expression over dims");
  return ExprAttr::get(context, expression->str());
}
