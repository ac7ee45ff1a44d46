// SPDX-License-Identifier: Apache-2.0
// Every launch must have a kernel for every shape in the declared ranges: boxes of dims are cut
// away by the kernels that cover them, and nothing may be left. (The runtime's own checker does the
// same from the file alone.)
#include "dialects/engine/EngineOps.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/Builders.h"

namespace ingot {
#define GEN_PASS_DEF_PROVECOVERAGEPASS
#include "passes/plan/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::engine;

namespace {

/// A product of ranges, one per declared dim.
using Box = SmallVector<std::pair<int64_t, int64_t>, 8>;

/// Appends to `rest` the parts of `box` outside of `cut`, which must lie within `box`.
void subtract(Box box, const Box &cut, SmallVectorImpl<Box> &rest) {
  for (size_t i = 0; i < box.size(); ++i) {
    auto part = [&](int64_t min, int64_t max) {
      if (min > max)
        return;
      Box piece = box;
      piece[i] = {min, max};
      rest.push_back(piece);
    };
    part(box[i].first, cut[i].first - 1);
    part(cut[i].second + 1, box[i].second);
    box[i] = cut[i];
  }
}

struct ProveCoverage : ingot::impl::ProveCoveragePassBase<ProveCoverage> {
  void runOnOperation() override {
    dims.assign(getOperation().getOps<DimOp>().begin(), getOperation().getOps<DimOp>().end());
    for (auto unit : getOperation().getOps<UnitOp>())
      for (auto program : unit.getBody().getOps<ProgramOp>())
        if (failed(prove(unit, program)))
          return signalPassFailure();
  }

  /// Proves each launch of `program` and records a row of the proof.
  LogicalResult prove(UnitOp unit, ProgramOp program) {
    OpBuilder builder = OpBuilder::atBlockEnd(&unit.getBody().front());
    SmallVector<Attribute> ranges;
    for (DimOp dim : dims)
      ranges.push_back(RangeAttr::get(&getContext(), dim.getSymName(), dim.getMin(), dim.getMax()));
    int64_t index = 0;
    for (Operation &op : program.getBody().front()) {
      auto launch = dyn_cast<LaunchOp>(op);
      if (launch && failed(prove(launch)))
        return failure();
      SmallVector<Attribute> kernels;
      if (launch)
        for (auto variant : launch.getVariants().getAsRange<VariantAttr>())
          kernels.push_back(variant.getKernel());
      if (launch)
        CoverageOp::create(builder, op.getLoc(), program.getSymName(), index,
                           builder.getArrayAttr(ranges), builder.getArrayAttr(kernels));
      if (!isa<SegmentOp>(op))
        ++index;
    }
    return success();
  }

  /// Narrows `box` to `ranges`; false when nothing is left.
  bool narrow(Box &box, ArrayRef<RangeAttr> ranges) {
    for (RangeAttr range : ranges)
      for (auto [i, dim] : llvm::enumerate(dims))
        if (dim.getSymName() == range.getDim())
          box[i] = {std::max(box[i].first, range.getMin()),
                    std::min(box[i].second, range.getMax())};
    return llvm::all_of(box, [](auto range) { return range.first <= range.second; });
  }

  LogicalResult prove(LaunchOp launch) {
    auto unit = launch->getParentOfType<UnitOp>();
    Box whole;
    for (DimOp dim : dims)
      whole.push_back({dim.getMin(), dim.getMax()});
    SmallVector<Box> left{whole};
    for (Attribute attribute : launch.getVariants()) {
      auto variant = cast<VariantAttr>(attribute);
      auto kernel =
          dyn_cast_or_null<KernelOp>(SymbolTable::lookupSymbolIn(unit, variant.getKernel()));
      if (!kernel)
        return launch.emitOpError() << "INGOT-E3021: names no kernel " << variant.getKernel();
      SmallVector<RangeAttr> guards(kernel.getGuards().getAsRange<RangeAttr>());
      SmallVector<Box> next;
      for (Box &box : left) {
        Box cut = box;
        if (narrow(cut, variant.getRanges()) && narrow(cut, guards))
          subtract(box, cut, next);
        else
          next.push_back(box);
      }
      left = std::move(next);
    }
    return left.empty() ? success() : report(launch, unit, left.front());
  }

  LogicalResult report(LaunchOp launch, UnitOp unit, const Box &box) {
    InFlightDiagnostic error = launch.emitOpError();
    error << "INGOT-E3022: '" << launch.getSite() << "' has no kernel on target "
          << unit.getTarget().getName() << " for";
    for (auto [dim, range] : llvm::zip(dims, box))
      error << " " << dim.getSymName() << " " << range.first << " to " << range.second;
    return error;
  }

  SmallVector<DimOp> dims;
};

} // namespace
