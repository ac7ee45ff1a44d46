// SPDX-License-Identifier: Apache-2.0
// llm.attention over a cache of e4m3 gets the attribute `fp8`. That changes numbers, so the recipe
// must ask for it: the module's attribute llm.fp8_attention.
#include "dialects/llm/LlmAttentionOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_FP8CONTEXTATTENTIONPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct Fp8ContextAttention : ingot::impl::Fp8ContextAttentionPassBase<Fp8ContextAttention> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    if (engine::attributeOf<llm::LlmDialect::Fp8AttentionAttrHelper>(getOperation()))
      report.forEach<llm::AttentionOp>([&](llm::AttentionOp op) { visit(report, op); });
  }

  static void visit(FusionReport &report, llm::AttentionOp site) {
    // Weights are scaled over runs of 64 positions, which larger heads do not take together.
    constexpr int64_t kColumns = 32, kMostColumns = 128;
    llm::KvType cache = site.getCache().getType();
    if (!isa<Float8E4M3FNType>(cache.getElement()))
      return report.declined(site, "the cache is not of e4m3");
    if (!cache.isUniform())
      return report.declined(site, "values have another width than keys");
    if (cache.getHeadDim() % kColumns != 0 || cache.getHeadDim() > kMostColumns)
      return report.declined(site, "the head size is no multiple of 32 up to 128");
    if (!report.accepts(engine::Fusion::Fp8Attention, site))
      return;
    site.setFp8(true);
    report.applied(site);
  }
};

} // namespace
