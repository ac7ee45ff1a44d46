// SPDX-License-Identifier: Apache-2.0
// The llm dialect, its types and attributes.
#include "dialects/llm/LlmDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

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
  addStateOps();
}

LogicalResult LlmDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return engine::verifyDeclared(op, attribute, getStoreAttrHelper(), getKvAttrHelper(),
                                getComputeAttrHelper(), getFp8AttentionAttrHelper(),
                                getFormatAttrHelper(), getStaticScaleAttrHelper(),
                                getStaticScalesAttrHelper());
}

LogicalResult ComputeAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type element,
                                  bool staticScales, int64_t group) {
  if (!element.isInteger(8) && !isa<Float8E4M3FNType>(element))
    return emitError() << "products read activations of i8 or f8E4M3FN, not of " << element;
  if (group < 0 || (group > 0 && (staticScales || !element.isInteger(8))))
    return emitError() << "groups of columns have scales of their own in i8, found at run time";
  return success();
}

//===- KvType -------------------------------------------------------------------------------===//

static constexpr int64_t kSectionAlignment = 64;

LogicalResult KvType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                             int64_t headDim, Type element, int64_t blockTokens, int64_t window,
                             int64_t valueDim, bool latent) {
  if (heads < 1 || headDim < 1 || blockTokens < 1)
    return emitError() << "KV heads, head size and block size must be positive";
  if (window < 0 || window > INT32_MAX)
    return emitError() << "a window has 1 to 2147483647 positions, or 0: all";
  if (valueDim < 1)
    return emitError() << "heads of values must have columns";
  if (latent && (heads != 1 || window != 0 || valueDim > headDim))
    return emitError() << "a latent cache has one head, no window, and values within its keys";
  if (!element.isF32() && !element.isF16() && !element.isBF16() && !element.isInteger(8) &&
      !isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return emitError() << "KV elements of type " << element << " are not supported";
  return success();
}

bool KvType::hasScales() const { return getElement().getIntOrFloatBitWidth() == 8; }

/// Of keys or values with so many columns.
static int64_t kvDataBytes(KvType type, int64_t columns) {
  int64_t bytes = type.getHeads() * type.getBlockTokens() * columns *
                  type.getElement().getIntOrFloatBitWidth() / 8;
  return llvm::alignTo(bytes, kSectionAlignment);
}

static int64_t kvScaleBytes(KvType type) {
  return type.hasScales()
             ? llvm::alignTo(type.getHeads() * type.getBlockTokens() * 4, kSectionAlignment)
             : 0;
}

int64_t KvType::valuesOffset() const { return getLatent() ? 0 : kvDataBytes(*this, getHeadDim()); }
int64_t KvType::keyScalesOffset() const {
  return kvDataBytes(*this, getHeadDim()) + (getLatent() ? 0 : kvDataBytes(*this, getValueDim()));
}
int64_t KvType::valueScalesOffset() const {
  return keyScalesOffset() + (getLatent() ? 0 : kvScaleBytes(*this));
}
int64_t KvType::blockBytes() const { return valueScalesOffset() + kvScaleBytes(*this); }

KvType KvType::withElement(Type element) const {
  return get(getContext(), getHeads(), getHeadDim(), element, getBlockTokens(), getWindow(),
             getValueDim(), getLatent());
}

void KvType::print(AsmPrinter &printer) const {
  printer << "<" << getHeads() << " x " << getHeadDim() << " x " << getElement()
          << ", block = " << getBlockTokens();
  if (getWindow() != 0)
    printer << ", window = " << getWindow();
  if (getValueDim() != getHeadDim())
    printer << ", values = " << getValueDim();
  if (getLatent())
    printer << ", latent";
  printer << ">";
}

Type KvType::parse(AsmParser &parser) {
  int64_t heads = 0, headDim = 0, block = 0, window = 0;
  Type element;
  auto parseX = [&] { return parser.parseKeyword("x"); };
  if (parser.parseLess() || parser.parseInteger(heads) || parseX() ||
      parser.parseInteger(headDim) || parseX() || parser.parseType(element) ||
      parser.parseComma() || parser.parseKeyword("block") || parser.parseEqual() ||
      parser.parseInteger(block))
    return {};
  int64_t values = headDim;
  bool latent = false;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("latent"))) {
      latent = true;
      continue;
    }
    bool isWindow = succeeded(parser.parseOptionalKeyword("window"));
    if ((!isWindow && parser.parseKeyword("values")) || parser.parseEqual() ||
        parser.parseInteger(isWindow ? window : values))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<KvType>(parser.getContext(), heads, headDim, element, block, window,
                                   values, latent);
}

//===- StateType ----------------------------------------------------------------------------===//

int64_t StateType::blockBytes() const {
  int64_t bits = getRow().getNumElements() * engine::elementBits(getRow().getElementType());
  return llvm::alignTo(llvm::divideCeil(bits, 8), kSectionAlignment);
}

//===- Free functions -----------------------------------------------------------------------===//

std::string KvGroup::name() const {
  return window == 0 ? kind.str() : kind.str() + "." + std::to_string(window);
}

std::optional<KvGroup> llm::kvGroupOf(Type type) {
  if (auto kv = dyn_cast<KvType>(type)) {
    StringRef kind = kv.getLatent() ? "latent" : kv.getWindow() ? "sliding" : "global";
    return KvGroup{kv.getWindow(), kind, kv.getBlockTokens()};
  }
  if (auto state = dyn_cast<StateType>(type); state && state.getBlockTokens() != 0)
    return KvGroup{0, "recurrent", state.getBlockTokens()};
  return std::nullopt;
}

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
