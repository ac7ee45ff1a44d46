// SPDX-License-Identifier: Apache-2.0
// Finds two products of one input that meet in a point-wise operation (gate and up) and merges
// them.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "passes/fuse/MergeProducts.h"

namespace ingot {
#define GEN_PASS_DEF_MERGEGATEUPPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct MergeGateUp : ingot::impl::MergeGateUpPassBase<MergeGateUp> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::PointwiseOp>([&](llm::PointwiseOp op) { visit(report, op); });
  }

  static llm::MatmulOp product(Value value) {
    if (auto round = value.getDefiningOp<llm::RoundOp>())
      value = round.getInput();
    return value.getDefiningOp<llm::MatmulOp>();
  }

  void visit(FusionReport &report, llm::PointwiseOp site) {
    if (site.getInputs().size() != 2)
      return;
    llm::MatmulOp gate = product(site.getInputs()[0]), up = product(site.getInputs()[1]);
    if (!gate || !up || gate == up || gate.getInput() != up.getInput())
      return; // no gate and up: no site of this pass
    std::string name = siteOf(gate);
    mergeProducts(report, {gate, up}, StringRef(name).rsplit('.').first + ".gate_up_proj");
  }
};

} // namespace
