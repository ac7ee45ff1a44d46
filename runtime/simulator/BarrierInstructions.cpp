// SPDX-License-Identifier: Apache-2.0
// bar and barrier: the sixteen named barriers of a block, with counts, arrival and reductions; and
// barrier.cluster.
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"

namespace ingot::simulator {

namespace {

enum class BarrierForm : uint16_t { Sync, Arrive, ReduceAnd, ReduceOr, ReduceCount };

/// Threads that a barrier without a count waits for.
uint32_t allThreads(const Block &block) { return block.warpsAlive * warpSize; }

} // namespace

void Block::completeBarrier(uint32_t number) {
  NamedBarrier &barrier = barriers[number];
  uint32_t result = barrier.reduction;
  for (Warp &warp : warps) {
    if (!(barrier.waiting >> warp.index & 1))
      continue;
    if (races)
      races->acquire(warp, RaceDetector::barrierObject(number), true);
    warp.state = WarpState::Ready;
    if (warp.barrierResult == noSlot)
      continue;
    const Op &op = warp.code[warp.pc - 1];
    warp.mask = warp.active;
    if (BarrierForm(op.flags & 15) == BarrierForm::ReduceCount) {
      for (uint32_t i = 0; i < warpSize; ++i)
        warp.lanes<uint32_t>(warp.barrierResult)[i] = result;
    } else {
      bool holds = BarrierForm(op.flags & 15) == BarrierForm::ReduceAnd ? result == barrier.arrived
                                                                        : result > 0;
      setPredicate(warp, warp.barrierResult, holds ? fullMask : 0);
    }
    warp.barrierResult = noSlot;
  }
  barrier = NamedBarrier();
  ++progress;
}

void Block::warpExited() {
  --warpsAlive;
  ++progress;
  // Threads that have exited count as arrived at barriers without a count.
  for (uint32_t number = 0; number < namedBarriers; ++number) {
    NamedBarrier &barrier = barriers[number];
    if (barrier.waiting && barrier.expected == ~0u && barrier.arrived >= allThreads(*this))
      completeBarrier(number);
  }
}

namespace {

uint32_t countPredicate(Warp &warp, const Op &op) {
  uint32_t bits = warp.predicate(op.slot[3]);
  return uint32_t(std::popcount((op.flags >> 4 & 1 ? ~bits : bits) & warp.mask));
}

/// slot[0] result, slot[1] barrier number, slot[2] thread count or none, slot[3] predicate.
void executeBarrier(Warp &warp, const Op &op) {
  if (!warp.converged(fullMask))
    return;
  Block &block = *warp.block;
  uint32_t lane = uint32_t(std::countr_zero(warp.mask));
  uint32_t number = warp.lanes<uint32_t>(op.slot[1])[lane];
  uint32_t count = op.slot[2] == noSlot ? ~0u : warp.lanes<uint32_t>(op.slot[2])[lane];
  for (uint32_t i = 0; i < warpSize; ++i)
    if ((warp.mask >> i & 1) && warp.lanes<uint32_t>(op.slot[1])[i] != number)
      return warp.fault(i, FindingKind::Barrier, "the threads of a warp name different barriers");
  if (number >= namedBarriers)
    return warp.fault(lane, FindingKind::Barrier,
                      "barrier " + std::to_string(number) + " does not exist, there are 16");
  if (count != ~0u && (count == 0 || count % warpSize || count > block.warps.size() * warpSize))
    return warp.fault(lane, FindingKind::Barrier,
                      "a count of " + std::to_string(count) +
                          " threads: it must be a multiple of 32 of at most the block's threads");
  NamedBarrier &barrier = block.barriers[number];
  uint32_t line = warp.launch->program->lines[warp.pc - 1];
  if (barrier.arrived == 0) {
    barrier.expected = count;
    barrier.firstLine = line;
  } else if (barrier.expected != count) {
    return warp.fault(lane, FindingKind::Barrier,
                      "barrier " + std::to_string(number) + " expects " +
                          (barrier.expected == ~0u ? "all" : std::to_string(barrier.expected)) +
                          " threads since line " + std::to_string(barrier.firstLine) + ", here " +
                          (count == ~0u ? "all" : std::to_string(count)));
  }
  BarrierForm form = BarrierForm(op.flags & 15);
  if (block.races)
    block.races->release(warp, RaceDetector::barrierObject(number));
  barrier.arrived += warpSize;
  if (form >= BarrierForm::ReduceAnd) {
    // The reductions count threads; those of a partial warp that do not exist hold the neutral.
    uint32_t holding = countPredicate(warp, op);
    if (form == BarrierForm::ReduceAnd)
      holding += warpSize - uint32_t(std::popcount(warp.mask));
    barrier.reduction += holding;
    warp.barrierResult = op.slot[0];
  }
  if (form != BarrierForm::Arrive) {
    barrier.waiting |= uint64_t(1) << warp.index;
    warp.state = WarpState::AtBarrier;
    warp.barrier = number;
    warp.yield();
  }
  uint32_t expected = barrier.expected == ~0u ? allThreads(block) : barrier.expected;
  if (barrier.arrived > expected)
    return warp.fault(lane, FindingKind::Barrier,
                      "more threads come to barrier " + std::to_string(number) + " than the " +
                          std::to_string(expected) + " that it expects");
  if (barrier.arrived == expected)
    block.completeBarrier(number);
}

void decodeBarrierForm(Decoder &d) {
  d.take("cta");
  int form = d.takeOneOf({"sync", "arrive", "red"});
  if (form < 0)
    d.fail("unknown form");
  size_t at = 0;
  d.op.flags = uint16_t(form == 1 ? BarrierForm::Arrive : BarrierForm::Sync);
  if (form == 2) {
    int which = d.takeOneOf({"and", "or", "popc"});
    d.take("aligned");
    if (which < 0)
      which = d.takeOneOf({"and", "or", "popc"});
    if (which < 0)
      d.fail("a reduction is missing");
    d.op.flags = uint16_t(uint16_t(BarrierForm::ReduceAnd) + which);
    Type type = d.takeType();
    d.target(0, d.operand(0), type);
    at = 1;
  }
  d.take("aligned");
  size_t last = d.operandCount() - (form == 2 ? 1 : 0);
  d.source(1, d.operand(at), Type::U32);
  if (at + 1 < last)
    d.source(2, d.operand(at + 1), Type::U32);
  if (form == 1 && d.op.slot[2] == noSlot && last != at + 2)
    d.fail("arrive needs a thread count");
  if (form == 2)
    d.source(3, d.operand(last), Type::Pred);
  d.op.run = executeBarrier;
  d.keepSources();
  d.emit();
}

void executeWarpBarrier(Warp &warp, const Op &op) {
  uint32_t wanted = warp.lanes<uint32_t>(op.slot[1])[std::countr_zero(warp.mask)];
  if (warp.converged(wanted) && warp.block->races)
    warp.block->races->warpBarrier(warp);
}

void executeClusterArrive(Warp &warp, const Op &) {
  if (!warp.converged(fullMask))
    return;
  Block &block = *warp.block;
  if (warp.clusterArrived)
    return warp.fault(0, FindingKind::Barrier,
                      "arrives twice at the barrier of the cluster without a wait between");
  if (block.races)
    block.races->release(warp, RaceDetector::clusterObject);
  warp.clusterArrived = true;
  ++block.clusterArrived;
  ++block.progress;
}

void leaveCluster(Warp &warp) {
  ++warp.clusterPhase;
  warp.clusterArrived = false;
  if (warp.block->races)
    warp.block->races->acquire(warp, RaceDetector::clusterObject, true);
}

/// Whether every warp of the cluster has arrived for the phase this warp waits in.
void executeClusterWait(Warp &warp, const Op &) {
  if (!warp.converged(fullMask))
    return;
  Block &block = *warp.block;
  if (!warp.clusterArrived)
    return warp.fault(0, FindingKind::Barrier,
                      "waits at the barrier of the cluster without having arrived");
  if (warp.clusterPhase < block.clusterPhase)
    return leaveCluster(warp);
  bool complete = true;
  for (Block *other : *block.cluster)
    complete &= other->clusterArrived >= other->warpsAlive;
  if (!complete) {
    warp.polled = true;
    return warp.retry();
  }
  for (Block *other : *block.cluster) {
    other->clusterArrived = 0;
    ++other->clusterPhase;
    ++other->progress;
  }
  leaveCluster(warp);
}

void decodeBarrier(Decoder &d) {
  if (d.take("warp")) {
    d.expect("sync");
    d.op.run = executeWarpBarrier;
    d.source(1, d.operand(0), Type::B32);
    return d.emit();
  }
  if (d.take("cluster")) {
    int form = d.takeOneOf({"arrive", "wait"});
    while (d.takeOneOf({"release", "relaxed", "acquire", "aligned"}) >= 0) {
    }
    if (form < 0)
      d.fail("unknown form");
    d.op.run = form == 0 ? executeClusterArrive : executeClusterWait;
    return d.emit();
  }
  decodeBarrierForm(d);
}

} // namespace

void addBarrierInstructions(InstructionTable &table) {
  table["bar"] = decodeBarrier;
  table["barrier"] = decodeBarrier;
}

} // namespace ingot::simulator
