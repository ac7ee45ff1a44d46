// SPDX-License-Identifier: Apache-2.0
// Builds a product for each format and asks targets for its kernels.
#include "compiler/build/FormatSupport.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/checkpoint/quantized/methods/Methods.h"
#include "compiler/importers/StoredWeights.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::StoredFormat;

namespace {

using Row = std::vector<std::string>;

/// What every layout and group divides, and the most tokens of a step.
constexpr int64_t kExtent = 4096, kTokens = 512;
constexpr char kRefused[] = "refused", kNothing[] = "";

std::string code(StringRef text) { return ("`" + text + "`").str(); }

/// The names that a configuration has for a format.
std::string packingsOf(const StoredFormat &format) {
  std::string text;
  for (StringRef packing : format.packings)
    if (!packing.empty())
      text += (text.empty() ? "" : ", ") + code(packing);
  return text;
}

std::string shown(ElementType element) {
  return element == kF16   ? "f16"
         : element == kF32 ? "f32"
                           : std::to_string(elementBits(element)) + " bits";
}

std::string shown(const HeldFormat &held) {
  const Encoding &encoding = held.encoding;
  std::string text = code(encoding.row().name);
  if (encoding.zeroPoints)
    text += " with zero points";
  text += ", " + shown(held.scaleElement());
  text += encoding.group > 0    ? " for " + std::to_string(encoding.group)
          : encoding.group == 0 ? std::string(" for a row")
                                : std::string(" for all");
  if (encoding.hasSuperScales())
    text +=
        ", " + shown(held.scale) +
        (encoding.scales == kTableScales ? " in a table" : " for " + std::to_string(kSuperColumns));
  return text;
}

class FormatTables {
public:
  FormatTables(MLIRContext &context, ArrayRef<FormatTarget> targets);

  FormatTable checkpoints();
  FormatTable blockTypes();
  FormatTable elementTypes();

private:
  /// An empty table with one more column, which names the targets and their usual templates.
  FormatTable table(const char *title, Row columns) const;
  /// Appends to `row` what targets do with a weight: `use`, and those that do otherwise.
  void ask(Row &row, StringRef use, const HeldFormat &held);
  void ask(Row &row, StringRef use, llvm::function_ref<llm::MatmulOp()> makeProduct);

  RankedTensorType rowsOf(Type element);
  llm::MatmulOp product(Type weight, Type input, ArrayRef<RankedTensorType> parts,
                        llm::EncodingAttr encoding);
  llm::MatmulOp product(const HeldFormat &held);
  std::string kernelsOf(const FormatTarget &target, llm::MatmulOp op);

  OpBuilder builder;
  ArrayRef<FormatTarget> targets;
  /// Of each target, the templates for a product of bf16 with the first format that is read.
  std::vector<std::string> usual;
};

FormatTables::FormatTables(MLIRContext &context, ArrayRef<FormatTarget> targets)
    : builder(&context), targets(targets) {
  auto formats = checkpoint::methods::all[0]->formats; // of the first method some are read
  auto first = llvm::find_if(formats, [](const StoredFormat &format) { return format.isRead(); });
  for (const FormatTarget &target : targets) {
    llm::MatmulOp op = product(first->held);
    usual.push_back(kernelsOf(target, op));
    op->getParentOfType<ModuleOp>()->erase();
  }
}

FormatTable FormatTables::table(const char *title, Row columns) const {
  std::string all;
  for (auto [target, kernels] : llvm::zip_equal(targets, usual))
    all += (all.empty() ? "" : ", ") + target.second.getName().str() + " (" + kernels + ")";
  columns.push_back(all);
  return {title, std::move(columns), {}};
}

//===- Products -----------------------------------------------------------------------------===//

/// Activations.
RankedTensorType FormatTables::rowsOf(Type element) {
  return RankedTensorType::get({ShapedType::kDynamic, kExtent}, element,
                               builder.getStringAttr(schema::dim::tokens));
}

/// A function with one product in a module of its own; `parts`: what is beside the weight's values.
llm::MatmulOp FormatTables::product(Type weight, Type input, ArrayRef<RankedTensorType> parts,
                                    llm::EncodingAttr encoding) {
  Location loc = builder.getUnknownLoc();
  ModuleOp module = ModuleOp::create(loc);
  SmallVector<Type> types{rowsOf(input), RankedTensorType::get({kExtent, kExtent}, weight)};
  llvm::append_range(types, parts);
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, loc, "product", builder.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  auto values =
      llm::EncodedWeight::of(block->getArgument(1), block->getArguments().drop_front(2), encoding);
  return llm::MatmulOp::create(builder, loc, rowsOf(input), block->getArgument(0), values);
}

llm::MatmulOp FormatTables::product(const HeldFormat &held) {
  MLIRContext *context = builder.getContext();
  const Encoding &encoding = held.encoding;
  SmallVector<RankedTensorType> parts;
  auto add = [&](PartShape shape, ElementType element) {
    if (shape.rows)
      parts.push_back(RankedTensorType::get(shape.columns ? ArrayRef({shape.rows, shape.columns})
                                                          : ArrayRef({shape.rows}),
                                            engine::typeFor(context, element)));
  };
  add(encoding.scaleShape(kExtent, kExtent), held.scaleElement());
  add(encoding.zeroShape(kExtent, kExtent), held.zeroElement());
  add(encoding.superShape(kExtent, kExtent), held.scale);
  return product(engine::typeFor(context, encoding.element()), builder.getBF16Type(), parts,
                 llm::EncodingAttr::get(context, encoding));
}

/// The templates of the target's kernels for `op`, with weights in the layouts that it wants; empty
/// if it has none.
std::string FormatTables::kernelsOf(const FormatTarget &target, llm::MatmulOp op) {
  ScopedDiagnosticHandler silent(builder.getContext(), [](Diagnostic &) { return success(); });
  std::unique_ptr<engine::KernelProvider> provider = target.first->createProvider(target.second);
  for (OpOperand &operand : op->getOpOperands().drop_front()) {
    auto layout = provider->weightLayout(op, operand.getOperandNumber());
    if (failed(layout))
      return "";
    auto type = cast<RankedTensorType>(operand.get().getType());
    operand.get().setType(RankedTensorType::get(type.getShape(), type.getElementType(), *layout));
  }
  std::vector<engine::RangeAttr> declared;
  for (const char *dim : {schema::dim::tokens, schema::dim::sequences, schema::dim::logitRows,
                          schema::dim::tableWidth})
    declared.push_back(engine::RangeAttr::get(builder.getContext(), dim, 1, kTokens));
  SmallVector<engine::KernelVariant> kernels;
  if (failed(verify(op)) || failed(provider->kernelsFor(op, declared, kernels)))
    return "";
  llvm::SetVector<StringRef> sources;
  for (const engine::KernelVariant &kernel : kernels)
    sources.insert(kernel.source);
  return llvm::join(llvm::map_range(sources, code), ", ");
}

void FormatTables::ask(Row &row, StringRef use, llvm::function_ref<llm::MatmulOp()> makeProduct) {
  std::string said = use.str();
  for (auto [target, usualKernels] : llvm::zip_equal(targets, usual)) {
    llm::MatmulOp op = makeProduct();
    std::string kernels = kernelsOf(target, op);
    if (kernels != usualKernels)
      said += "; " + target.second.getName().str() + ": " + (kernels.empty() ? kRefused : kernels);
    op->getParentOfType<ModuleOp>()->erase();
  }
  row.push_back(said);
}

void FormatTables::ask(Row &row, StringRef use, const HeldFormat &held) {
  ask(row, use, [&] { return product(held); });
}

//===- Tables -------------------------------------------------------------------------------===//

FormatTable FormatTables::checkpoints() {
  FormatTable result =
      table("Quantized checkpoints", {"method", "packing", "numbers", "bits", "an engine holds"});
  for (const checkpoint::QuantizationMethod *method : checkpoint::methods::all)
    for (const StoredFormat &format : method->formats) {
      Row row{std::string(method->names[0]), packingsOf(format)};
      if (format.isRead()) {
        llvm::append_values(row, std::string(format.numbers), std::to_string(format.bits),
                            shown(format.held));
        ask(row, format.isWidened() ? "widened" : "native", format.held);
      } else {
        llvm::append_values(row, std::string(format.refusal), kNothing, kNothing, kRefused);
      }
      result.rows.push_back(std::move(row));
    }
  return result;
}

FormatTable FormatTables::blockTypes() {
  FormatTable result =
      table("GGUF types", {"type", "bits a weight", "an engine holds", "bits a weight"});
  auto bits = [](double count) { return llvm::formatv("{0:f2}", count).str(); };
  for (DType type : checkpoint::ggmlTypes()) {
    checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(type);
    double stored = double(unit.bits) / unit.elements;
    Row row{std::string(dtypeName(type)), bits(stored)};
    if (const checkpoint::GgmlEncoding *encoding = checkpoint::ggmlEncoding(type)) {
      const HeldFormat &held = encoding->held;
      double bitsHeld = held.bitsPerElement(unit.elements);
      llvm::append_values(row, shown(held), bits(bitsHeld));
      ask(row, bitsHeld > stored ? "widened" : "native", held);
    } else if (Type plain = plainType(builder, type)) {
      llvm::append_values(row, "the same", bits(stored));
      ask(row, "native", [&] { return product(plain, plain, {}, {}); });
    } else {
      llvm::append_values(row, kNothing, kNothing, kRefused);
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

FormatTable FormatTables::elementTypes() {
  FormatTable result = table("Element types of safetensors files", {"type", "where"});
  std::map<Row, std::string> typesOf; // of which the same is said
  for (DType type : checkpoint::elementTypes()) {
    Row row;
    if (Type plain = plainType(builder, type)) {
      row.push_back("weights, scales");
      ask(row, "native", [&] { return product(plain, plain, {}, {}); });
    } else if (elementType(builder, type)) {
      llvm::append_values(row, "the formats above", kNothing);
    } else {
      llvm::append_values(row, kNothing, kRefused);
    }
    std::string &types = typesOf[row];
    types += (types.empty() ? "" : ", ") + std::string(dtypeName(type));
  }
  for (auto &[said, types] : typesOf) {
    Row row{types};
    llvm::append_range(row, said);
    result.rows.push_back(std::move(row));
  }
  return result;
}

} // namespace

std::vector<FormatTable> compiler::tabulateFormats(MLIRContext &context,
                                                   ArrayRef<FormatTarget> targets) {
  FormatTables tables(context, targets);
  return {tables.checkpoints(), tables.blockTypes(), tables.elementTypes()};
}
