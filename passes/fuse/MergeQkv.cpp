// SPDX-License-Identifier: Apache-2.0
// Finds the q, k and v projections of each attention and merges them.
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "passes/fuse/MergeProducts.h"

namespace ingot {
#define GEN_PASS_DEF_MERGEQKVPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// The operation behind `value`, through those that rope_append takes up; null if none.
Operation *originOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<llm::RopeOp, llm::RoundOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
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
    llm::MatmulOp products[3];
    Value values[] = {site.getQuery(), append.getKeys(), append.getValues()};
    for (auto [product, value] : llvm::zip_equal(products, values)) {
      Operation *origin = originOf(value);
      // rope_append cannot take up the norm, and without it the merged row would be cut again.
      if (isa_and_nonnull<llm::NormOp>(origin))
        return report.declined(site, "q or k is normed before it rotates");
      product = dyn_cast_or_null<llm::MatmulOp>(origin);
      if (!product)
        return report.declined(site, "q, k and v are not three products");
    }
    if (products[0] == products[1])
      return report.declined(site, "q, k and v are not three products");
    std::string name = siteOf(products[0]);
    mergeProducts(report, products, StringRef(name).rsplit('.').first + ".qkv_proj");
  }
};

} // namespace
