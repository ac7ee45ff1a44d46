// SPDX-License-Identifier: Apache-2.0
// llm.matmul %x, %w  becomes  llm.matmul %x, %w sums <tensor x 16, segment = 1024>, and so does
// all else that adds.
#include "dialects/engine/EngineOps.h"
#include "dialects/llm/EncodedWeight.h"
#include "passes/FusionReport.h"
#include "passes/plan/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_CHOOSESUMSPASS
#include "passes/plan/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::engine;

namespace {

struct ChooseSums : ingot::impl::ChooseSumsPassBase<ChooseSums> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FusionReport report(module, getArgument());
    if (!report)
      return signalPassFailure();
    SmallVector<RangeAttr> declared = declaredRanges(module);
    auto determinism = attributeOf<EngineDialect::DeterminismAttrHelper>(module);
    bool isFast = determinism && determinism.getValue() == Determinism::Fast;
    report.forEach<llm::SumsOpInterface>([&](llm::SumsOpInterface op) {
      if (op.getSumsAttr())
        return;
      for (SumsAttr sums : report.target().sumsFor(op, declared))
        if (isFast || sums.getSegment() != -1) {
          op.setSumsAttr(sums);
          break;
        }
    });
  }
};

} // namespace
