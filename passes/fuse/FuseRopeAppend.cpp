// SPDX-License-Identifier: Apache-2.0
// rope(q), rope(k) and kv_append(k, v) of one q|k|v product become rope_append.
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEROPEAPPENDPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct FuseRopeAppend : ingot::impl::FuseRopeAppendPassBase<FuseRopeAppend> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    report.forEach<llm::KvAppendOp>([&](llm::KvAppendOp op) { visit(report, op); });
  }

  void visit(FusionReport &report, llm::KvAppendOp site) {
    if (!site.getCache().getType().isUniform())
      return report.declined(site, "values have another width than keys");
    auto keys = site.getKeys().getDefiningOp<llm::RopeOp>();
    auto keySlice = keys ? keys.getInput().getDefiningOp<llm::SliceColumnsOp>() : nullptr;
    auto valueSlice = site.getValues().getDefiningOp<llm::SliceColumnsOp>();
    if (!keySlice || !valueSlice || keySlice.getInput() != valueSlice.getInput())
      return report.declined(site, "k and v are not slices of one q|k|v value");
    if (keys.getInterleaved())
      return report.declined(site, "columns of pairs stand side by side");
    Value qkv = keySlice.getInput();
    llm::RopeOp query = queryOf(qkv, keys);
    if (!query)
      return report.declined(site, "no q of the same rotation is a slice of the same value");
    int64_t queryColumns = llm::columnsOf(query.getResult());
    int64_t kvColumns = llm::columnsOf(keys.getResult());
    if (static_cast<int64_t>(keySlice.getFirst()) != queryColumns ||
        static_cast<int64_t>(valueSlice.getFirst()) != queryColumns + kvColumns ||
        llm::columnsOf(qkv) != queryColumns + 2 * kvColumns)
      return report.declined(site, "q, k and v do not fill the value in this order");
    if (!keys->hasOneUse() || query.getType() != withColumnsOf(keys.getType(), queryColumns))
      return report.declined(site, "q and k are stored in different types");
    bool hasAxes = keys.getAxes().has_value();
    if (!hasAxes && site.getPositions() != keys.getPositions())
      return report.declined(site, "k is rotated by other positions than it is kept at");
    if (!report.accepts(engine::Fusion::RopeAppend, site))
      return;
    OpBuilder builder(query);
    auto fused = llm::RopeAppendOp::create(
        builder, site.getLoc(), query.getType(), qkv, site.getPositions(), keys.getInvFreq(),
        site.getTokenSequences(), site.getBlockTable(), site.getCache(), site.getStaticScales(),
        hasAxes ? keys.getPositions() : Value(), keys.getFactorAttr(), keys.getAxesAttr());
    query.replaceAllUsesWith(fused.getResult());
    query->erase();
    site->erase();
    keys->erase();
    report.applied(fused);
  }

  static Type withColumnsOf(Type type, int64_t columns) {
    return llm::withColumns(cast<RankedTensorType>(type), columns);
  }

  /// The rotation of the first columns of `qkv` that matches the one of `keys`; null if none.
  static llm::RopeOp queryOf(Value qkv, llm::RopeOp keys) {
    for (Operation *user : qkv.getUsers()) {
      auto slice = dyn_cast<llm::SliceColumnsOp>(user);
      if (!slice || slice.getFirst() != 0 || !slice->hasOneUse())
        continue;
      auto rope = dyn_cast<llm::RopeOp>(*slice->user_begin());
      if (rope && rope.getInvFreq() == keys.getInvFreq() &&
          rope.getPositions() == keys.getPositions() && rope.getFactor() == keys.getFactor() &&
          rope.getAxes() == keys.getAxes() && rope->getBlock() == keys->getBlock())
        return rope;
    }
    return {};
  }
};

} // namespace
