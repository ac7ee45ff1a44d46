// SPDX-License-Identifier: Apache-2.0
// round(op) becomes op with a narrower result type: the store is the rounding point.
#include "dialects/llm/LlmComputeOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEROUNDPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct FuseRound : ingot::impl::FuseRoundPassBase<FuseRound> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::RoundOp>([&](llm::RoundOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::RoundOp site) {
    auto producer = site.getInput().getDefiningOp();
    if (!producer)
      return report.declined(site, "the value has no producer in this program");
    if (!site.getInput().hasOneUse())
      return report.declined(site, "the value is also used unrounded");
    if (!cast<RankedTensorType>(site.getInput().getType()).getElementType().isF32())
      return report.declined(site, "the value is rounded before");
    // Other operations' result types follow from their operands or mean more than a store.
    if (!producer->hasTrait<llm::StoresResult>())
      return report.declined(site, "its producer " + producer->getName().getStringRef() +
                                       " cannot store another type");
    if (!report.accepts(engine::Fusion::Round, site))
      return;
    site.getInput().setType(site.getType());
    site.replaceAllUsesWith(site.getInput());
    site->erase();
    report.applied(producer);
  }
};

} // namespace
