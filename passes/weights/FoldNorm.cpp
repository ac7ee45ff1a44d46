// SPDX-License-Identifier: Apache-2.0
// norm(x) * g followed by products with f32 weights W: the products use W * g instead.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/weights/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_FOLDNORMPASS
#include "passes/weights/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct FoldNorm : ingot::impl::FoldNormPassBase<FoldNorm> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::NormOp>([&](llm::NormOp op) { visit(report, op); });
  }

  static std::string obstacle(llm::NormOp site) {
    if (site.getHeadDim())
      return "each head is normed by itself";
    if (site.getBias())
      return "the norm adds a bias";
    if (!getElementTypeOrSelf(site.getResult()).isF32())
      return "the norm is stored in a narrower type";
    for (Operation *user : site.getResult().getUsers()) {
      auto matmul = dyn_cast<llm::MatmulOp>(user);
      if (!matmul)
        return "the norm is read by " + user->getName().getStringRef().str();
      if (!getElementTypeOrSelf(matmul.getWeight()).isF32() || matmul.getEncoding())
        return "a weight is stored in another format than f32 and would be rounded again";
      if (!matmul.getWeight().hasOneUse())
        return "a weight has other readers (a tied embedding)";
      if (matmul.getWeight().getDefiningOp<llm::DequantizeOp>())
        return "a weight is quantized, and folding would change what is quantized";
    }
    return "";
  }

  static Value later(Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp()) ? b : a;
  }

  void visit(FusionReport &report, llm::NormOp site) {
    if (!site.getWeight())
      return; // nothing to fold: no site of this pass
    std::string reason = obstacle(site);
    if (!reason.empty())
      return report.declined(site, reason);
    Value factors = site.getWeight();
    for (OpOperand &use : site.getResult().getUses()) {
      auto matmul = cast<llm::MatmulOp>(use.getOwner());
      OpBuilder builder(matmul.getContext());
      // Where both are there, not at the product: passes that merge products need them early.
      builder.setInsertionPointAfterValue(later(matmul.getWeight(), factors));
      auto scaled = llm::ScaleColumnsOp::create(
          builder, matmul.getLoc(), matmul.getWeight().getType(), matmul.getWeight(), factors);
      matmul.getWeightMutable().assign(scaled.getResult());
    }
    site.getWeightMutable().clear();
    report.applied(site);
  }
};

} // namespace
