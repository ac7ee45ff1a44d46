// SPDX-License-Identifier: Apache-2.0
// Gives every weight that a program reads the layout its target wants.
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/weights/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_CHOOSELAYOUTSPASS
#include "passes/weights/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct ChooseLayouts : ingot::impl::ChooseLayoutsPassBase<ChooseLayouts> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    SetVector<Value> weights;
    getOperation().walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (isWeight(operand) && !isWeightOperation(op))
          weights.insert(operand);
    });
    for (Value weight : weights)
      if (failed(pack(report, weight)))
        return signalPassFailure();
  }

  LogicalResult pack(FusionReport &report, Value weight) {
    // A product's wish comes first: it reads the weight most; others cope with its layout.
    OpOperand *reader = nullptr;
    for (OpOperand &use : weight.getUses())
      if (!isWeightOperation(use.getOwner()) &&
          (!reader || (isa<llm::MatmulOp>(use.getOwner()) &&
                       (!isa<llm::MatmulOp>(reader->getOwner()) ||
                        use.getOwner()->isBeforeInBlock(reader->getOwner())))))
        reader = &use;
    FailureOr<engine::LayoutAttr> layout =
        report.target().weightLayout(reader->getOwner(), reader->getOperandNumber());
    if (failed(layout))
      return failure();
    OpBuilder builder(weight.getContext());
    builder.setInsertionPointAfterValue(weight);
    auto type = cast<RankedTensorType>(weight.getType());
    auto pack = llm::PackOp::create(
        builder, weight.getLoc(),
        RankedTensorType::get(type.getShape(), type.getElementType(), *layout), weight);
    weight.replaceUsesWithIf(pack.getResult(),
                             [](OpOperand &use) { return !isWeightOperation(use.getOwner()); });
    return success();
  }
};

} // namespace
