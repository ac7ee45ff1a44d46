// SPDX-License-Identifier: Apache-2.0
// The llm dialect, its types and attributes.
#include "dialects/llm/LlmEncodings.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

template <> struct mlir::FieldParser<ScaleForm> {
  static FailureOr<ScaleForm> parse(AsmParser &parser) { return parseScaleForm(parser); }
};

#include "dialects/llm/LlmDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/llm/LlmAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/llm/LlmTypes.cpp.inc"

void LlmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/llm/LlmAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/llm/LlmTypes.cpp.inc"
      >();
  addWeightOps();
  addComputeOps();
  addMatmulOps();
  addAttentionOps();
  addExpertOps();
}

//===- KvType -------------------------------------------------------------------------------===//

static constexpr int64_t kSectionAlignment = 64;

LogicalResult KvType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                             int64_t headDim, Type element, int64_t blockTokens) {
  if (heads < 1 || headDim < 1 || blockTokens < 1)
    return emitError() << "KV heads, head size and block size must be positive";
  if (!element.isF32() && !element.isF16() && !element.isBF16() && !element.isInteger(8) &&
      !isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return emitError() << "KV elements of type " << element << " are not supported";
  return success();
}

bool KvType::hasScales() const { return getElement().getIntOrFloatBitWidth() == 8; }

static int64_t kvDataBytes(KvType type) {
  int64_t bytes = type.getHeads() * type.getBlockTokens() * type.getHeadDim() *
                  type.getElement().getIntOrFloatBitWidth() / 8;
  return llvm::alignTo(bytes, kSectionAlignment);
}

static int64_t kvScaleBytes(KvType type) {
  return type.hasScales()
             ? llvm::alignTo(type.getHeads() * type.getBlockTokens() * 4, kSectionAlignment)
             : 0;
}

int64_t KvType::valuesOffset() const { return kvDataBytes(*this); }
int64_t KvType::keyScalesOffset() const { return 2 * kvDataBytes(*this); }
int64_t KvType::valueScalesOffset() const { return keyScalesOffset() + kvScaleBytes(*this); }
int64_t KvType::blockBytes() const { return valueScalesOffset() + kvScaleBytes(*this); }

void KvType::print(AsmPrinter &printer) const {
  printer << "<" << getHeads() << " x " << getHeadDim() << " x " << getElement()
          << ", block = " << getBlockTokens() << ">";
}

Type KvType::parse(AsmParser &parser) {
  int64_t heads = 0, headDim = 0, block = 0;
  Type element;
  auto parseX = [&] { return parser.parseKeyword("x"); };
  if (parser.parseLess() || parser.parseInteger(heads) || parseX() ||
      parser.parseInteger(headDim) || parseX() || parser.parseType(element) ||
      parser.parseComma() || parser.parseKeyword("block") || parser.parseEqual() ||
      parser.parseInteger(block) || parser.parseGreater())
    return {};
  return parser.getChecked<KvType>(parser.getContext(), heads, headDim, element, block);
}

//===- EncodingAttr -------------------------------------------------------------------------===//

const EncodingTraits *llm::findEncoding(StringRef kind) {
  static constexpr EncodingTraits kinds[] = {{"int2", 2, false, Zeros::None, true, false},
                                             {"int3", 3, false, Zeros::None, true, false},
                                             {"int4", 4, false, Zeros::None, true, false},
                                             {"int5", 5, false, Zeros::None, true, false},
                                             {"int6", 6, false, Zeros::None, true, false},
                                             {"int8", 8, false, Zeros::None, true, false},
                                             {"fp8", 8, true, Zeros::None, false, true},
                                             {"affine2", 2, false, Zeros::Offsets, false, false},
                                             {"affine4", 4, false, Zeros::Offsets, false, false},
                                             {"affine5", 5, false, Zeros::Offsets, false, false},
                                             {"affine8", 8, false, Zeros::Offsets, false, false},
                                             {"codebook4", 4, false, Zeros::CodeBook, false, false},
                                             {"codebook8", 8, false, Zeros::CodeBook, false, true}};
  const auto *found =
      llvm::find_if(kinds, [&](const EncodingTraits &traits) { return traits.name == kind; });
  return found == std::end(kinds) ? nullptr : found;
}

static constexpr StringLiteral kScaleForms[] = {"plain", "blocks", "table"};

FailureOr<ScaleForm> llm::parseScaleForm(AsmParser &parser) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  const auto *found = llvm::find(kScaleForms, word);
  if (found == std::end(kScaleForms))
    return parser.emitError(location, "scales must be plain, blocks or table");
  return static_cast<ScaleForm>(found - std::begin(kScaleForms));
}

AsmPrinter &llm::operator<<(AsmPrinter &printer, ScaleForm form) {
  printer.getStream() << kScaleForms[static_cast<size_t>(form)];
  return printer;
}

const EncodingTraits &llm::traitsOf(EncodingAttr encoding) {
  return *findEncoding(encoding.getKind());
}

LogicalResult EncodingAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef kind,
                                   int64_t group, bool zeroPoints, ScaleForm scales) {
  const EncodingTraits *traits = findEncoding(kind);
  if (!traits)
    return emitError() << "unknown encoding '" << kind << "'";
  if (group < -1 || (group == -1 && !traits->byTensor))
    return emitError() << "encoding '" << kind << "' has no group " << group;
  if (zeroPoints && !traits->zeroPoints)
    return emitError() << "encoding '" << kind << "' has no zero points";
  bool whole = group > 0 && kSuperColumns % group == 0;
  if (scales == ScaleForm::Blocks && (!whole || zeroPoints))
    return emitError() << "scales of blocks are for groups that divide " << kSuperColumns
                       << ", without zero points";
  if (scales == ScaleForm::Table && (group < 0 || traits->zeros == Zeros::Offsets))
    return emitError() << "scales of a table are for groups and rows, without offsets";
  return success();
}

//===- Free functions -----------------------------------------------------------------------===//

int64_t llm::columnsOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.getRank() < 2 ? 1 : type.getShape().back();
}

engine::ExprAttr llm::rowsOf(RankedTensorType type) {
  if (auto text = dyn_cast_or_null<StringAttr>(type.getEncoding()))
    return engine::getExpr(type.getContext(), text.getValue());
  return engine::getExpr(type.getContext(), std::to_string(type.getShape().front()));
}

std::optional<RowCount> llm::rowCountOf(RankedTensorType type) {
  using Op = engine::Expr::Op;
  std::optional<engine::Expr> rows = engine::Expr::parse(rowsOf(type).getText());
  if (!rows)
    return std::nullopt;
  auto is = [&](size_t index, Op op) { return rows->nodes[index].op == op; };
  if (rows->nodes.size() == 1)
    return is(0, Op::Dim) ? RowCount{rows->nodes[0].dim, 1} : RowCount{"", rows->nodes[0].value};
  if (rows->nodes.size() == 3 && is(0, Op::Dim) && is(1, Op::Const) && is(2, Op::Mul))
    return RowCount{rows->nodes[0].dim, rows->nodes[1].value};
  return std::nullopt;
}

int64_t llm::rowsFor(RankedTensorType many, RankedTensorType few) {
  std::optional<RowCount> a = rowCountOf(many), b = rowCountOf(few);
  bool whole = a && b && a->dim == b->dim && b->factor > 0 && a->factor % b->factor == 0;
  return whole ? a->factor / b->factor : 0;
}

RankedTensorType llm::withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

RankedTensorType llm::withColumns(RankedTensorType type, int64_t columns) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = columns;
  return RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
}

Zeros llm::zerosOf(EncodingAttr encoding) {
  return encoding.getZeroPoints() ? Zeros::Points : traitsOf(encoding).zeros;
}

bool llm::hasCodeBook(EncodingAttr encoding) {
  return encoding && zerosOf(encoding) == Zeros::CodeBook;
}

bool llm::isInteger(EncodingAttr encoding) {
  const EncodingTraits &traits = traitsOf(encoding);
  return !traits.isFloat && traits.zeros == Zeros::None;
}

int64_t llm::groupsOf(EncodingAttr encoding, int64_t columns) {
  return encoding.getGroup() > 0 ? llvm::divideCeil(columns, encoding.getGroup()) : 1;
}

bool llm::hasRowSupers(EncodingAttr encoding) {
  return encoding && encoding.getScales() == ScaleForm::Blocks;
}
