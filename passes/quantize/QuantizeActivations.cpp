// SPDX-License-Identifier: Apache-2.0
// Inserts llm.quantize_activation before products whose encoded weight goes with 8-bit inputs, with
// scales found at run time, of rows or groups of their columns, or the checkpoint's.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/quantize/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_QUANTIZEACTIVATIONSPASS
#include "passes/quantize/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct QuantizeActivations : ingot::impl::QuantizeActivationsPassBase<QuantizeActivations> {
  void runOnOperation() override {
    compute = engine::attributeOf<llm::LlmDialect::ComputeAttrHelper>(getOperation());
    if (compute) {
      FusionReport report(getOperation(), getArgument());
      if (!report)
        return signalPassFailure();
      report.forEach<llm::MatmulOp>([&](llm::MatmulOp op) { visit(report, op); });
    }
    getOperation()->walk([](llm::MatmulOp op) { op->removeAttr(StaticScale::getNameStr()); });
  }

  void visit(FusionReport &report, llm::MatmulOp site) {
    std::optional<llm::EncodingAttr> encoding = site.getEncoding();
    bool integers = compute.getElement().isInteger();
    bool fits = encoding &&
                (integers ? hasIntegers(site, *encoding) : isFloat(encoding->facts().element()));
    if (!fits)
      return report.declined(
          site,
          std::string("a weight ") +
              (encoding ? "in " + std::string(encoding->facts().row().name) : "without encoding") +
              " has no product with " + (integers ? "int8" : "fp8") + " activations");
    FloatAttr scale;
    if (compute.getStaticScales() && !(scale = engine::attributeOf<StaticScale>(site)))
      return report.declined(site, "the checkpoint has no scale for its input");
    if (std::string reason = groupObstacle(report, site, *encoding); !reason.empty())
      return report.declined(site, reason);
    if (!report.accepts(engine::Fusion::QuantizeActivation, site))
      return;
    // Products of one input and one scale share its quantized form.
    llm::QuantizeActivationOp &quantized = quantizedForms[{site.getInput(), scale}];
    if (!quantized) {
      OpBuilder builder(site);
      Value literal = scale ? literalOf(builder, site, scale) : Value();
      builder.setInsertionPointAfterValue(
          literal && isa<BlockArgument>(site.getInput()) ? literal : site.getInput());
      auto type = cast<RankedTensorType>(site.getInput().getType());
      SmallVector<int64_t> shape{type.getShape().front()};
      if (hasGroups(site))
        shape.push_back(type.getShape().back() / compute.getGroup());
      auto scales = RankedTensorType::get(shape, builder.getF32Type(), type.getEncoding());
      quantized = llm::QuantizeActivationOp::create(builder, site.getLoc(),
                                                    llm::withElement(type, compute.getElement()),
                                                    scales, site.getInput(), literal);
    }
    site.getInputMutable().assign(quantized.getResult());
    site.getInputScalesMutable().assign(quantized.getScales());
    report.applied(site);
  }

  /// Whether a row of the input of `site` has several scales.
  bool hasGroups(llm::MatmulOp site) const {
    return compute.getGroup() > 0 && compute.getGroup() < llm::columnsOf(site.getInput());
  }

  /// Why the input of `site` has no scales by groups where these are asked for; empty if it can.
  std::string groupObstacle(const FusionReport &report, llm::MatmulOp site,
                            llm::EncodingAttr encoding) const {
    if (!hasGroups(site))
      return "";
    if (!report.target().scalesInputGroups())
      return "the target's products have one scale for each row of inputs";
    int64_t group = compute.getGroup();
    std::string groups = "groups of " + std::to_string(group) + " columns";
    int64_t columns = llm::columnsOf(site.getInput()), stored = encoding.getGroup();
    if (columns % group != 0)
      return "its " + std::to_string(columns) + " columns are no whole " + groups;
    if (stored > 0 && group % stored != 0 && stored % group != 0)
      return groups + " do not fit the weight's of " + std::to_string(stored);
    return "";
  }

  /// `scale` as a weight of the step, among the others at its start.
  static Value literalOf(OpBuilder &builder, llm::MatmulOp site, FloatAttr scale) {
    builder.setInsertionPointToStart(site->getBlock());
    auto type = RankedTensorType::get({1}, builder.getF32Type());
    return llm::LiteralOp::create(builder, site.getLoc(), type, siteOf(site) + ".input_scale",
                                  DenseElementsAttr::get(type, scale.getValue()));
  }

  /// Whether what scales multiply are integers of at most 8 bits.
  static bool hasIntegers(llm::MatmulOp site, llm::EncodingAttr encoding) {
    if (!encoding.facts().hasCodeBook())
      return encoding.facts().isInteger() || encoding.facts().hasOffsets();
    auto book = site.getEncodedWeight().zeros.getDefiningOp<llm::LiteralOp>();
    auto numbers = book ? dyn_cast<DenseFPElementsAttr>(book.getValue()) : DenseFPElementsAttr();
    return numbers && llvm::all_of(numbers.getValues<float>(), [](float number) {
             return number >= -127 && number <= 127 && number == float(int(number));
           });
  }

  /// On a product: the scale that the checkpoint has for its input, an f32.
  using StaticScale = llm::LlmDialect::StaticScaleAttrHelper;

  llm::ComputeAttr compute; ///< null: products read what is stored
  DenseMap<std::pair<Value, Attribute>, llm::QuantizeActivationOp> quantizedForms;
};

} // namespace
