// SPDX-License-Identifier: Apache-2.0
// Branches, the end of threads, traps, and programmatic launch.
#include "runtime/simulator/GlobalTracker.h"
#include "runtime/simulator/Lanes.h"

namespace ingot::simulator {

void executeJoin(Warp &warp, const Op &) {
  if (warp.pc - 1 < warp.mergePc)
    return;
  --warp.pc;
  uint32_t here = warp.pc;
  warp.join();
  if (warp.pc == here)
    ++warp.pc;
}

void executeBranch(Warp &warp, const Op &op) {
  if (op.slot[0] == noSlot) {
    warp.pc = uint32_t(op.immediate);
    return;
  }
  uint32_t taken = warp.predicate(op.slot[0]);
  warp.branch(warp.active & (op.flags ? ~taken : taken), uint32_t(op.immediate));
}

void executeIndexedBranch(Warp &warp, const Op &op) {
  const std::vector<uint32_t> &places = warp.launch->program->branchTables[size_t(op.immediate)];
  const auto *index = warp.lanes<uint32_t>(op.slot[0]);
  uint32_t left = warp.active;
  while (left) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    if (index[lane] >= places.size())
      return warp.fault(lane, FindingKind::OutOfBounds, "branches beyond the table");
    uint32_t same = 0;
    for (uint32_t i = 0; i < warpSize; ++i)
      same |= uint32_t((left >> i & 1) && index[i] == index[lane]) << i;
    left &= ~same;
    if (left == 0) {
      warp.active = same;
      warp.pc = places[index[lane]];
    } else {
      warp.groups.push_back({places[index[lane]], same, false});
    }
  }
  warp.join();
}

void executeReturn(Warp &warp, const Op &) { warp.exitLanes(warp.mask); }

namespace {

void decodeBranch(Decoder &d) {
  d.take("uni");
  d.expectOperands(1, 1);
  d.op.run = executeBranch;
  const Instruction &in = d.in();
  if (in.guard >= 0) {
    Operand guard;
    guard.kind = Operand::Kind::Register;
    guard.index = uint32_t(in.guard);
    d.source(0, guard, Type::Pred);
    d.op.flags = in.guardNegated;
  }
  if (d.operand(0).kind != Operand::Kind::Label)
    d.fail("a label is needed");
  d.emitBranch(d.operand(0).index);
}

void decodeIndexedBranch(Decoder &d) {
  d.expect("idx");
  d.take("uni");
  if (d.in().guard >= 0)
    d.fail("a guard is not supported here");
  d.expectOperands(2, 2);
  d.op.run = executeIndexedBranch;
  d.source(0, d.operand(0), Type::U32);
  d.op.immediate = d.constant(d.operand(1), "the table");
  if (d.branchTable(size_t(d.op.immediate)).empty())
    d.fail("the table is empty");
  d.emit();
}

void executeTrap(Warp &warp, const Op &) {
  warp.fault(uint32_t(std::countr_zero(warp.mask)), FindingKind::Arithmetic, "the kernel trapped");
}

void executeGridWait(Warp &warp, const Op &) {
  warp.gridWaited = true;
  warp.launch->waitExecuted.store(true, std::memory_order_relaxed);
}

void executeNothing(Warp &, const Op &) {}

void decodeGridDependency(Decoder &d) {
  int which = d.takeOneOf({"wait", "launch_dependents"});
  if (which < 0)
    d.fail("unknown form");
  d.op.run = which == 0 ? executeGridWait : executeNothing;
  if (which == 0)
    d.result().waitsForGrid = true;
  d.emit();
}

/// Register budgets are the assembler's to keep; the count must be one that hardware accepts.
void decodeSetMaxRegisters(Decoder &d) {
  if (d.takeOneOf({"inc", "dec"}) < 0)
    d.fail("unknown form");
  d.expect("sync");
  d.expect("aligned");
  d.expect("u32");
  int64_t count = d.constant(d.operand(0), "the register count");
  if (count < 24 || count > 256 || count % 8)
    d.fail("a register count is a multiple of 8 from 24 to 256");
  d.op.run = executeNothing;
  d.emit();
}

} // namespace

void addControlInstructions(InstructionTable &table) {
  table["bra"] = decodeBranch;
  table["brx"] = decodeIndexedBranch;
  table["ret"] = [](Decoder &d) {
    d.take("uni");
    d.op.run = executeReturn;
    d.emit();
  };
  table["exit"] = table["ret"];
  table["trap"] = [](Decoder &d) {
    d.op.run = executeTrap;
    d.emit();
  };
  table["brkpt"] = table["trap"];
  table["griddepcontrol"] = decodeGridDependency;
  table["setmaxnreg"] = decodeSetMaxRegisters;
}

} // namespace ingot::simulator
