// SPDX-License-Identifier: Apache-2.0
// Finds the q, k and v projections of each attention and merges them.
#include "passes/fuse/MergeProducts.h"

namespace ingot {
#define GEN_PASS_DEF_MERGEQKVPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// The product behind `value`, through operations that keep columns in place; null if none.
llm::MatmulOp projectionOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto matmul = dyn_cast<llm::MatmulOp>(op))
      return matmul;
    if (!isa<llm::RopeOp, llm::RoundOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

struct MergeQkv : ingot::impl::MergeQkvPassBase<MergeQkv> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::AttentionOp>([&](llm::AttentionOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::AttentionOp site) {
    llm::KvAppendOp append;
    for (Operation *user : site.getCache().getUsers())
      if (auto op = dyn_cast<llm::KvAppendOp>(user))
        append = op;
    if (!append)
      return report.declined(site, "nothing appends to its KV cache here");
    llm::MatmulOp products[] = {projectionOf(site.getQuery()), projectionOf(append.getKeys()),
                                projectionOf(append.getValues())};
    if (!llvm::all_of(products, [](llm::MatmulOp op) { return static_cast<bool>(op); }) ||
        products[0] == products[1])
      return report.declined(site, "q, k and v are not three products");
    std::string name = siteOf(products[0]);
    mergeProducts(report, products, StringRef(name).rsplit('.').first + ".qkv_proj");
  }
};

} // namespace
