// SPDX-License-Identifier: Apache-2.0
// pointwise(matmul, weights...) becomes the product's epilogue: biases.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEEPILOGUEPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct FuseEpilogue : ingot::impl::FuseEpiloguePassBase<FuseEpilogue> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::PointwiseOp>([&](llm::PointwiseOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::PointwiseOp site) {
    auto inputs = site.getInputs();
    auto matmul = inputs.empty() ? llm::MatmulOp() : inputs[0].getDefiningOp<llm::MatmulOp>();
    if (!matmul || !llvm::all_of(inputs.drop_front(), isWeight))
      return; // not a function of one product and weights: no site of this pass
    if (!matmul->hasOneUse())
      return report.declined(site, "the product has other users");
    if (!matmul.getEpilogue().empty())
      return report.declined(site, "the product already has an epilogue");
    if (!matmul.getType().getElementType().isF32())
      return report.declined(site, "the product is rounded before");
    if (!report.accepts(engine::Fusion::Epilogue, site))
      return;
    matmul.getEpilogueOperandsMutable().append(inputs.drop_front());
    matmul.getEpilogue().takeBody(site.getBody());
    matmul.getResult().setType(site.getType());
    site.replaceAllUsesWith(matmul.getResult());
    site->erase();
    report.applied(matmul);
  }
};

} // namespace
