// SPDX-License-Identifier: Apache-2.0
// quantize_activation(norm) becomes a norm with an 8-bit result.
#include "dialects/llm/LlmComputeOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEQUANTIZEACTIVATIONPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct FuseQuantizeActivation
    : ingot::impl::FuseQuantizeActivationPassBase<FuseQuantizeActivation> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::QuantizeActivationOp>(
        [&](llm::QuantizeActivationOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::QuantizeActivationOp site) {
    auto norm = site.getInput().getDefiningOp<llm::NormOp>();
    if (!norm)
      return report.declined(site, "its input is not a norm");
    if (norm.getHeadDim())
      return report.declined(site, "each head is normed by itself");
    if (!norm.getResult().hasOneUse())
      return report.declined(site, "the norm is also used unquantized");
    if (!report.accepts(engine::Fusion::NormToBytes, site))
      return;
    Type store = cast<RankedTensorType>(norm.getResult().getType()).getElementType();
    OpBuilder builder(norm);
    auto fused = llm::NormOp::create(
        builder, norm.getLoc(), site.getResult().getType(), site.getScales().getType(),
        norm.getSum() ? norm.getSum().getType() : Type(), norm.getInput(), norm.getResidual(),
        norm.getWeight(), norm.getBias(), site.getStaticScale(), norm.getEpsAttr(),
        norm.getCenteredAttr(), TypeAttr::get(store), IntegerAttr(), norm.getSumsAttr());
    if (norm.getSum())
      norm.getSum().replaceAllUsesWith(fused.getSum());
    site.getResult().replaceAllUsesWith(fused.getResult());
    site.getScales().replaceAllUsesWith(fused.getScales());
    site->erase();
    norm->erase();
    report.applied(fused);
  }
};

} // namespace
