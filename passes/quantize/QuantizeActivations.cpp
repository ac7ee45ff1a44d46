// SPDX-License-Identifier: Apache-2.0
// Inserts llm.quantize_activation before products whose encoded weight goes with 8-bit inputs.
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
    auto compute = getOperation()->getAttrOfType<StringAttr>("llm.compute");
    if (!compute || !compute.getValue().ends_with("-dynamic"))
      return;
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    bool integers = compute.getValue() == "int8-dynamic";
    report.forEach<llm::MatmulOp>([&](llm::MatmulOp op) { visit(report, op, integers); });
  }

  void visit(FusionReport &report, llm::MatmulOp site, bool integers) {
    std::optional<llm::EncodingAttr> encoding = site.getEncoding();
    bool fits =
        encoding && (integers ? hasIntegers(site, *encoding) : encoding->getKind() == "fp8");
    if (!fits)
      return report.declined(
          site,
          std::string("a weight ") +
              (encoding ? "in " + encoding->getKind().str() : std::string("without encoding")) +
              " has no product with " + (integers ? "int8" : "fp8") + " activations");
    if (!report.accepts(site))
      return;
    // Products of one input share its quantized form.
    llm::QuantizeActivationOp &quantized = quantizedForms[site.getInput()];
    if (!quantized) {
      OpBuilder builder(site);
      builder.setInsertionPointAfterValue(site.getInput());
      auto type = cast<RankedTensorType>(site.getInput().getType());
      Type element =
          integers ? Type(builder.getI8Type()) : Type(Float8E4M3FNType::get(builder.getContext()));
      auto scales = RankedTensorType::get(type.getShape().take_front(), builder.getF32Type(),
                                          type.getEncoding());
      quantized = llm::QuantizeActivationOp::create(
          builder, site.getLoc(), llm::withElement(type, element), scales, site.getInput());
    }
    site.getInputMutable().assign(quantized.getResult());
    site.getInputScalesMutable().assign(quantized.getScales());
    report.applied(site);
  }

  /// Whether what scales multiply are integers of at most 8 bits.
  static bool hasIntegers(llm::MatmulOp site, llm::EncodingAttr encoding) {
    if (!llm::hasCodeBook(encoding))
      return llm::isInteger(encoding) || llm::zerosOf(encoding) == llm::Zeros::Offsets;
    auto book = site.getZeros().getDefiningOp<llm::LiteralOp>();
    auto numbers = book ? dyn_cast<DenseFPElementsAttr>(book.getValue()) : DenseFPElementsAttr();
    return numbers && llvm::all_of(numbers.getValues<float>(), [](float number) {
             return number >= -127 && number <= 127 && number == float(int(number));
           });
  }

  DenseMap<Value, llm::QuantizeActivationOp> quantizedForms;
};

} // namespace
