// SPDX-License-Identifier: Apache-2.0
// norm(a + b) computes the sum itself and returns it beside the norm.
#include "dialects/llm/LlmComputeOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_FUSENORMPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Whether `op` yields exactly the sum of its two operands.
bool isAddition(llm::PointwiseOp op) {
  if (op.getInputs().size() != 2)
    return false;
  Block &body = op.getBody().front();
  auto yield = cast<llm::YieldOp>(body.getTerminator());
  auto add = yield.getValue().getDefiningOp<arith::AddFOp>();
  return add && add.getLhs() == body.getArgument(0) && add.getRhs() == body.getArgument(1);
}

struct FuseNorm : ingot::impl::FuseNormPassBase<FuseNorm> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::NormOp>([&](llm::NormOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::NormOp site) {
    // The cut between two segments may lie between the addition and the norm.
    auto boundary = site.getInput().getDefiningOp<llm::BoundaryOp>();
    Value sum = boundary ? boundary.getInput() : site.getInput();
    auto add = sum.getDefiningOp<llm::PointwiseOp>();
    if (!add || !isAddition(add))
      return report.declined(site, "its input is not a sum");
    if (boundary && !sum.hasOneUse())
      return report.declined(site, "the sum is used on both sides of a segment boundary");
    if (site.getHeadDim())
      return report.declined(site, "each head is normed by itself");
    auto first = add.getInputs()[0], second = add.getInputs()[1];
    if (first.getType() != second.getType())
      return report.declined(site, "the terms have different types");
    if (!report.accepts(engine::Fusion::NormOfSum, site))
      return;
    // Other users of the sum may come before the norm.
    OpBuilder builder(boundary ? boundary.getOperation() : add.getOperation());
    auto fused = llm::NormOp::create(builder, site.getLoc(), site.getResult().getType(), Type(),
                                     sum.getType(), first, second, site.getWeight(), site.getBias(),
                                     Value(), site.getEpsAttr(), site.getCenteredAttr(),
                                     site.getStoreAttr(), IntegerAttr(), site.getSumsAttr());
    if (boundary) {
      builder.setInsertionPointAfter(fused);
      auto cut = llm::BoundaryOp::create(builder, boundary.getLoc(), fused.getSum().getType(),
                                         fused.getSum(), boundary.getSegment());
      boundary.replaceAllUsesWith(cut.getResult());
      boundary->erase();
    }
    sum.replaceAllUsesWith(fused.getSum());
    site.getResult().replaceAllUsesWith(fused.getResult());
    site->erase();
    add->erase();
    report.applied(fused);
  }
};

} // namespace
