// SPDX-License-Identifier: Apache-2.0
// pointwise(matmul, weights...) becomes the product's epilogue: biases, and behind these functions
// of the rounded sum.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

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
    if (auto round = inputs.size() == 1 ? inputs[0].getDefiningOp<llm::RoundOp>() : llm::RoundOp())
      return visitRounded(report, site, round);
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

  /// A function of a product that is rounded first.
  static void visitRounded(FusionReport &report, llm::PointwiseOp site, llm::RoundOp round) {
    auto matmul = round.getInput().getDefiningOp<llm::MatmulOp>();
    if (!matmul || matmul.getPairOffset() || !matmul.getType().getElementType().isF32())
      return; // no site of this pass
    if (!matmul->hasOneUse() || !round->hasOneUse())
      return report.declined(site, "the product has other users");
    if (!report.accepts(engine::Fusion::Epilogue, site))
      return;
    appendToEpilogue(matmul, round, site);
    matmul.getResult().setType(site.getType());
    site.replaceAllUsesWith(matmul.getResult());
    site->erase();
    round->erase();
    report.applied(matmul);
  }

  /// The product's own epilogue, the rounding, then the site's body.
  static void appendToEpilogue(llm::MatmulOp matmul, llm::RoundOp round, llm::PointwiseOp site) {
    OpBuilder builder(matmul);
    Type f32 = builder.getF32Type();
    if (matmul.getEpilogue().empty()) {
      Block *block = builder.createBlock(&matmul.getEpilogue(), {}, f32, site.getLoc());
      llm::YieldOp::create(builder, site.getLoc(), block->getArgument(0));
    }
    auto yield = cast<llm::YieldOp>(matmul.getEpilogue().front().getTerminator());
    builder.setInsertionPoint(yield);
    Value value = arith::TruncFOp::create(builder, site.getLoc(), round.getType().getElementType(),
                                          yield.getValue());
    IRMapping mapping;
    Block &body = site.getBody().front();
    mapping.map(body.getArgument(0), arith::ExtFOp::create(builder, site.getLoc(), f32, value));
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    auto result = cast<llm::YieldOp>(body.getTerminator()).getValue();
    llm::YieldOp::create(builder, site.getLoc(), mapping.lookupOrDefault(result));
    yield->erase();
  }
};

} // namespace
