// SPDX-License-Identifier: Apache-2.0
// matmul(x, dequantize(w)) and embed(ids, dequantize(w)) read the encoded weight themselves.
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
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

/// Hands the operands of `source` to `op`, whose weight it was.
template <class Op> void readEncoded(Op op, MutableOperandRange weight, llm::DequantizeOp source) {
  weight.assign(source.getValues());
  op.getScalesMutable().assign(source.getScales());
  if (source.getZeros())
    op.getZerosMutable().assign(source.getZeros());
  if (source.getSupers())
    op.getSupersMutable().assign(source.getSupers());
  op.setEncodingAttr(source.getEncodingAttr());
}

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
    auto matmul = dyn_cast<llm::MatmulOp>(user);
    auto embed = dyn_cast<llm::EmbedOp>(user);
    bool isWeightOperand = (matmul && &use == &matmul.getWeightMutable()) ||
                           (embed && &use == &embed.getTableMutable());
    if (!isWeightOperand)
      return report.declined(user, "only products and embeddings read encoded weights");
    if (!report.accepts(user))
      return;
    if (matmul)
      readEncoded(matmul, MutableOperandRange(user, use.getOperandNumber(), 1), source);
    else
      readEncoded(embed, MutableOperandRange(user, use.getOperandNumber(), 1), source);
    report.applied(user);
  }
};

} // namespace
