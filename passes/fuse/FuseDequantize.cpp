// SPDX-License-Identifier: Apache-2.0
// matmul(x, dequantize(w)) and embed(ids, dequantize(w)) read the encoded weight themselves.
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_FUSEDEQUANTIZEPASS
#include "passes/fuse/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct FuseDequantize : ingot::impl::FuseDequantizePassBase<FuseDequantize> {
  void runOnOperation() override {
    FusionReport report(getOperation(), getArgument());
    if (!report)
      return signalPassFailure();
    SmallVector<llm::DequantizeOp> sources;
    getOperation().walk([&](llm::DequantizeOp op) { sources.push_back(op); });
    for (llm::DequantizeOp source : sources) {
      for (OpOperand &use : llvm::make_early_inc_range(source->getUses()))
        fuse(report, source, use);
      if (source->use_empty())
        source->erase();
    }
  }

  void fuse(FusionReport &report, llm::DequantizeOp source, OpOperand &use) {
    Operation *user = use.getOwner();
    auto reader = dyn_cast<llm::EncodedWeightOpInterface>(user);
    if (!reader || isWeightOperation(user) || &use != &reader.getStoredMutable())
      return report.declined(user, "only products and embeddings read encoded weights");
    if (!report.accepts(engine::Fusion::Dequantize, user))
      return;
    reader.setEncodedWeight(source.getEncodedWeight());
    report.applied(user);
  }
};

} // namespace
