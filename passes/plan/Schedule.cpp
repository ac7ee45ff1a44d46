// SPDX-License-Identifier: Apache-2.0
// Sinks pure operations to their first user, in reverse order, so that fewer values live at once.
#include "passes/plan/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "passes/plan/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct Schedule : ingot::impl::SchedulePassBase<Schedule> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
        sink(op);
  }

  static void sink(Operation &op) {
    if (!isPure(&op) || op.use_empty())
      return;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers()) {
      Operation *inBlock = op.getBlock()->findAncestorOpInBlock(*user);
      if (!first || inBlock->isBeforeInBlock(first))
        first = inBlock;
    }
    if (op.getNextNode() != first && !endsMoreThanItStarts(op))
      op.moveBefore(first);
  }

  /// Whether `op` is the last reader of more bytes per row than it produces: then it runs early.
  static bool endsMoreThanItStarts(Operation &op) {
    auto columnBytes = [](Value value) -> int64_t {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || type.hasStaticShape())
        return 0;
      int64_t columns = type.getRank() < 2 ? 1 : type.getShape().back();
      return columns * engine::elementBits(type.getElementType()) / 8;
    };
    int64_t ended = 0, started = 0;
    for (Value operand : op.getOperands())
      if (operand.getDefiningOp() && operand.hasOneUse())
        ended += columnBytes(operand);
    for (Value result : op.getResults())
      started += columnBytes(result);
    return ended > started;
  }
};

} // namespace
