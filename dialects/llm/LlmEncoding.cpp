// SPDX-License-Identifier: Apache-2.0
// #llm.encoding: its text, and what the tensors of an encoded weight must be.
#include "dialects/llm/LlmVerifiers.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

static_assert(std::size(kEncodings) == static_cast<size_t>(EncodingKind::CodeBook8) + 1 &&
                  Encoding{EncodingKind::Fp8}.row().name == "fp8" &&
                  Encoding{EncodingKind::CodeBook8}.row().name == "codebook8",
              "rows stand in the order of the kinds");

//===- Text ---------------------------------------------------------------------------------===//

static constexpr StringLiteral kScaleForms[] = {"plain", "blocks", "table"};

static ParseResult parseScaleForm(AsmParser &parser, ScaleForm &form) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  const auto *found = llvm::find(kScaleForms, word);
  if (found == std::end(kScaleForms))
    return parser.emitError(location, "scales must be plain, blocks or table");
  form = static_cast<ScaleForm>(found - std::begin(kScaleForms));
  return success();
}

/// What follows the `<`; null, with an error, for what is no encoding.
static EncodingAttr parseBody(AsmParser &parser) {
  SMLoc location = parser.getCurrentLocation();
  std::string name;
  Encoding encoding;
  StringRef zeroPoints;
  if (parser.parseString(&name) || parser.parseComma() || parser.parseKeyword("group") ||
      parser.parseEqual() || parser.parseInteger(encoding.group) || parser.parseComma() ||
      parser.parseKeyword("zero_points") || parser.parseEqual() || parser.parseKeyword(&zeroPoints))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("scales") || parser.parseEqual() ||
       parseScaleForm(parser, encoding.scales)))
    return {};
  if (parser.parseGreater())
    return {};
  auto refuse = [&](const Twine &why) -> EncodingAttr {
    return parser.emitError(location, why), EncodingAttr();
  };
  std::optional<EncodingKind> kind = findEncoding(name);
  if (!kind)
    return refuse("unknown encoding '" + name + "'");
  if (zeroPoints != "true" && zeroPoints != "false")
    return refuse("zero_points must be true or false");
  encoding.kind = *kind;
  encoding.zeroPoints = zeroPoints == "true";
  return EncodingAttr::getChecked([&] { return parser.emitError(location); }, parser.getContext(),
                                  encoding.kind, encoding.group, encoding.zeroPoints,
                                  encoding.scales);
}

Attribute EncodingAttr::parse(AsmParser &parser, Type) {
  return parser.parseLess() ? EncodingAttr() : parseBody(parser);
}

void EncodingAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << StringRef(facts().row().name) << "\", group = " << getGroup()
          << ", zero_points = " << (getZeroPoints() ? "true" : "false");
  if (getScales() != kPlainScales)
    printer << ", scales = " << kScaleForms[getScales()];
  printer << ">";
}

/// The tensors that `given` has too few or too many, for the first name that it is about.
static const char *misplaced(ArrayRef<StringRef> given, EncodingAttr encoding) {
  auto differs = [&](StringRef name) {
    return llvm::is_contained(given, name) != llvm::is_contained(partNames(encoding), name);
  };
  return differs("scales")  ? "scales go with an encoding and only with it"
         : differs("zeros") ? "zero points go with an encoding that has them, and only with it"
         : differs("super_scales")
             ? "super-block scales go with an encoding that has them, and only with it"
             : nullptr;
}

static ParseResult parseEncoding(OpAsmParser &parser, EncodingAttr &encoding) {
  if (succeeded(parser.parseOptionalLess())) {
    encoding = parseBody(parser);
    return success(encoding != nullptr);
  }
  SMLoc location = parser.getCurrentLocation();
  Attribute alias;
  if (!parser.parseOptionalAttribute(alias).has_value())
    return success();
  encoding = dyn_cast_or_null<EncodingAttr>(alias);
  return encoding ? success() : parser.emitError(location, "expected an encoding");
}

ParseResult llm::parseEncoded(OpAsmParser &parser,
                              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &parts,
                              SmallVectorImpl<Type> &types, EncodingAttr &encoding) {
  SmallVector<StringRef, 3> given;
  SMLoc location = parser.getCurrentLocation();
  for (StringRef name : {"scales", "zeros", "super_scales"})
    if (succeeded(parser.parseOptionalKeyword(name))) {
      given.push_back(name);
      if (parser.parseLParen() || parser.parseOperand(parts.emplace_back()) ||
          parser.parseColonType(types.emplace_back()) || parser.parseRParen())
        return failure();
    }
  if (parseEncoding(parser, encoding))
    return failure();
  if (const char *wrong = misplaced(given, encoding))
    return parser.emitError(location, wrong);
  return success();
}

void llm::printEncoded(OpAsmPrinter &printer, Operation *, OperandRange parts, TypeRange types,
                       EncodingAttr encoding) {
  for (auto [name, part, type] : llvm::zip(partNames(encoding), parts, types))
    printer << name << "(" << part << " : " << type << ") ";
  if (encoding)
    printer.printStrippedAttrOrType(encoding);
}

//===- Rules --------------------------------------------------------------------------------===//

LogicalResult EncodingAttr::verify(function_ref<InFlightDiagnostic()> emitError, EncodingKind kind,
                                   int64_t group, bool zeroPoints, ScaleForm scales) {
  Encoding encoding{kind, group, zeroPoints, scales};
  StringRef name = encoding.row().name;
  if (group < -1 || (group == -1 && !encoding.row().byTensor))
    return emitError() << "encoding '" << name << "' has no group " << group;
  if (zeroPoints && !encoding.row().zeroPoints)
    return emitError() << "encoding '" << name << "' has no zero points";
  bool whole = group > 0 && kSuperColumns % group == 0;
  if (scales == kBlockScales && (!whole || zeroPoints))
    return emitError() << "scales of blocks are for groups that divide " << kSuperColumns
                       << ", without zero points";
  if (scales == kTableScales && (group < 0 || encoding.hasOffsets()))
    return emitError() << "scales of a table are for groups and rows, without offsets";
  return success();
}

static SmallVector<int64_t> extents(PartShape shape) {
  return shape.columns ? SmallVector<int64_t>{shape.rows, shape.columns}
                       : SmallVector<int64_t>{shape.rows};
}

static RankedTensorType typeOrNull(Value value) {
  return value ? typeOf(value) : RankedTensorType();
}

/// Checks how the scales of an encoded weight are stored.
static LogicalResult verifySuperScales(Operation *op, Encoding encoding, RankedTensorType values,
                                       RankedTensorType scales, RankedTensorType superScales) {
  Type code = scales.getElementType();
  if (encoding.hasSuperScales() != static_cast<bool>(superScales))
    return op->emitOpError()
           << "super-block scales go with an encoding that has them, and only with it";
  if (!superScales)
    return success();
  int64_t columns = values.getShape().back();
  SmallVector<int64_t> expected = extents(encoding.superShape(values.getDimSize(0), columns));
  bool fits = superScales.getShape() == ArrayRef<int64_t>(expected);
  Type number = superScales.getElementType();
  if (encoding.scales == kTableScales)
    return fits && code.isInteger(8) && number.isF32()
               ? success()
               : op->emitOpError() << "scales of a table are i8, and the table " << kTableNumbers
                                   << " f32 numbers";
  bool isCode = code.isInteger(4) || code.isInteger(6) || code.isInteger(8);
  if (!isCode || !(number.isF16() || number.isF32()))
    return op->emitOpError()
           << "scales of blocks are i4, i6 or i8, and their super-block scales f16 or f32";
  if (columns % kSuperColumns != 0 || !fits)
    return op->emitOpError() << "super-block scales must be [" << expected
                             << "] of whole blocks of " << kSuperColumns << " columns";
  return success();
}

static LogicalResult verifyZeros(Operation *op, EncodingAttr attribute, RankedTensorType scales,
                                 RankedTensorType zeros) {
  Encoding encoding = attribute.facts();
  if ((encoding.zeros() != kNoZeros) != static_cast<bool>(zeros))
    return op->emitOpError() << "zero points go with an encoding that has them, and only with it";
  if (!zeros)
    return success();
  if (encoding.hasCodeBook()) {
    int64_t numbers = encoding.zeroShape(1, 1).rows;
    return zeros.getShape() == ArrayRef<int64_t>{numbers} && zeros.getElementType().isF32()
               ? success()
               : op->emitOpError()
                     << "a codebook must be " << numbers << " f32 numbers, not " << zeros;
  }
  if (zeros.getShape() != scales.getShape())
    return op->emitOpError() << "zero points and scales must have the same shape";
  Type expected =
      encoding.hasOffsets() ? scales.getElementType() : IntegerType::get(op->getContext(), 8);
  if (zeros.getElementType() != expected)
    return op->emitOpError() << "zeros of " << attribute << " must be " << expected;
  return success();
}

LogicalResult llm::verifyEncoded(Operation *op, const EncodedWeight &weight) {
  EncodingAttr attribute = weight.encoding;
  Encoding encoding = weight.facts();
  RankedTensorType type = typeOf(weight.values), scaleType = typeOf(weight.scales);
  if (type.getElementType() != engine::typeFor(op->getContext(), encoding.element()))
    return op->emitOpError() << "encoding " << attribute << " does not go with " << type;
  SmallVector<int64_t> expected =
      extents(encoding.scaleShape(type.getDimSize(0), type.getShape().back()));
  if (scaleType.getShape() != ArrayRef<int64_t>(expected))
    return op->emitOpError() << "scales must be [" << expected << "], not [" << scaleType.getShape()
                             << "]";
  if (failed(verifySuperScales(op, encoding, type, scaleType, typeOrNull(weight.superScales))))
    return failure();
  return verifyZeros(op, attribute, scaleType, typeOrNull(weight.zeros));
}

LogicalResult llm::verifyEncodedWeight(Operation *op) {
  auto reader = cast<EncodedWeightOpInterface>(op);
  EncodingAttr encoding = reader.getEncodingAttr();
  size_t given = reader.getParts().size(), wanted = partNames(encoding).size();
  if (given != wanted)
    return op->emitOpError() << "tensors beside the values of its weight: " << given << ", and "
                             << (encoding ? "its encoding" : "a weight without encoding")
                             << " needs " << wanted;
  return encoding ? verifyEncoded(op, reader.getEncodedWeight()) : success();
}
