// SPDX-License-Identifier: Apache-2.0
// mbarrier: arrivals and transaction bytes of a phase in shared memory.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/AsyncCopies.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"

namespace ingot::simulator {

bool findBarrier(Warp &warp, uint32_t lane, uint64_t address, bool initialised,
                 BarrierReference &found) {
  if (address >> 56) {
    if (spaceOf(address) != Space::Shared) {
      warp.fault(lane, FindingKind::OutOfBounds, "an mbarrier lies in shared memory", address);
      return false;
    }
  }
  const uint8_t *pointer = sharedPointer(warp, lane, address, 8, 8, &found.owner);
  if (!pointer)
    return false;
  found.address = uint32_t(pointer - found.owner->shared) + sharedBase;
  auto known = found.owner->messageBarriers.find(found.address);
  if (known == found.owner->messageBarriers.end()) {
    if (!initialised) {
      found.barrier = &found.owner->messageBarriers[found.address];
      return true;
    }
    warp.fault(lane, FindingKind::AsyncProtocol, "there is no initialised mbarrier here", address);
    return false;
  }
  found.barrier = &known->second;
  return true;
}

void settle(Block &block, MessageBarrier &barrier) {
  if (barrier.pending == 0 && barrier.transactions == 0) {
    ++barrier.phase;
    barrier.pending = barrier.expected;
  }
  ++block.progress;
}

void issueBulkCopy(Warp &warp, BulkCopy copy) {
  if (warp.launch->modes.lateCompletion) {
    warp.block->bulkCopies.push_back(std::move(copy));
    ++warp.block->progress;
    return;
  }
  copy.perform();
  copy.complete();
}

namespace {

enum class Form : uint16_t {
  Init,
  Invalidate,
  Arrive,
  ArriveExpect,
  ArriveDrop,
  Expect,
  Complete,
  Test
};

constexpr uint16_t parityFlag = 16;
constexpr int64_t maximumCount = (1 << 20) - 1;

/// slot[0] result, slot[1] address, slot[2] count, bytes, state or parity.
uint64_t addressOf(Warp &warp, const Op &op, uint32_t lane) {
  return (op.small[0] ? warp.lanes<uint64_t>(op.slot[1])[lane]
                      : warp.lanes<uint32_t>(op.slot[1])[lane]) +
         uint64_t(op.immediate);
}

uint32_t argument(Warp &warp, const Op &op, uint32_t lane) {
  return op.slot[2] == noSlot ? 1 : warp.lanes<uint32_t>(op.slot[2])[lane];
}

void initialise(Warp &warp, const Op &op, uint32_t lane, const BarrierReference &found) {
  int64_t count = argument(warp, op, lane);
  if (count < 1 || count > maximumCount)
    return warp.fault(lane, FindingKind::AsyncProtocol,
                      "an mbarrier for " + std::to_string(count) + " arrivals");
  *found.barrier = {0, count, count, 0};
  if (warp.block->races)
    warp.block->races->release(warp, found.address);
}

void arrive(Warp &warp, const Op &op, uint32_t lane, const BarrierReference &found) {
  Form form = Form(op.flags & 15);
  MessageBarrier &barrier = *found.barrier;
  // What other blocks do is no part of the owner's order.
  if (warp.block->races && found.owner == warp.block)
    warp.block->races->release(warp, found.address);
  if (found.owner != warp.block)
    found.owner->heldUntil = 0;
  if (op.slot[0] != noSlot)
    warp.lanes<uint64_t>(op.slot[0])[lane] = barrier.phase;
  int64_t count = form == Form::ArriveExpect ? 1 : argument(warp, op, lane);
  if (form == Form::ArriveExpect)
    barrier.transactions += argument(warp, op, lane);
  if (form == Form::ArriveDrop)
    --barrier.expected;
  if (count > barrier.pending)
    return warp.fault(lane, FindingKind::AsyncProtocol,
                      "more arrivals than the phase of the mbarrier waits for");
  barrier.pending -= count;
  if (barrier.transactions > maximumCount)
    return warp.fault(lane, FindingKind::AsyncProtocol,
                      "an mbarrier waits for more than 2^20 - 1 bytes");
  settle(*found.owner, barrier);
}

void change(Warp &warp, const Op &op, uint32_t lane, const BarrierReference &found) {
  int64_t bytes = argument(warp, op, lane);
  found.barrier->transactions += Form(op.flags & 15) == Form::Expect ? bytes : -bytes;
  settle(*found.owner, *found.barrier);
}

void executeBarrier(Warp &warp, const Op &op) {
  Form form = Form(op.flags & 15);
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    BarrierReference found;
    if (!findBarrier(warp, lane, addressOf(warp, op, lane), form != Form::Init, found))
      return;
    switch (form) {
    case Form::Init:
      initialise(warp, op, lane, found);
      break;
    case Form::Invalidate:
      found.owner->messageBarriers.erase(found.address);
      break;
    case Form::Expect:
    case Form::Complete:
      change(warp, op, lane, found);
      break;
    default:
      arrive(warp, op, lane, found);
    }
    if (warp.launch->failed)
      return;
  }
}

void executeTest(Warp &warp, const Op &op) {
  uint32_t complete = 0;
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    BarrierReference found;
    if (!findBarrier(warp, lane, addressOf(warp, op, lane), true, found))
      return;
    if (found.owner != warp.block)
      return warp.fault(lane, FindingKind::AsyncProtocol, "waits at an mbarrier of another block");
    bool done;
    if (op.flags & parityFlag)
      done = (found.barrier->phase & 1) != (warp.lanes<uint32_t>(op.slot[2])[lane] & 1);
    else
      done = uint64_t(found.barrier->phase) > warp.lanes<uint64_t>(op.slot[2])[lane];
    complete |= uint32_t(done) << lane;
    if (done && warp.block->races)
      warp.block->races->acquire(warp, found.address);
  }
  setPredicate(warp, op.slot[0], complete);
  if (complete != warp.mask) {
    warp.polled = true;
    warp.yield();
  }
}

Space takeSpace(Decoder &d) {
  while (d.takeOneOf({"release", "acquire", "relaxed", "cta", "cluster"}) >= 0) {
  }
  return d.take("shared") || d.take("shared::cta") || d.take("shared::cluster") ? Space::Shared
                                                                                : Space::Generic;
}

void decodeTest(Decoder &d) {
  bool parity = d.take("parity");
  Space space = takeSpace(d);
  d.expect("b64");
  d.expectOperands(3, 4);
  d.op.flags = uint16_t(uint16_t(Form::Test) | (parity ? parityFlag : 0));
  d.op.small[0] = d.address(1, d.operand(1), space);
  d.source(2, d.operand(2), parity ? Type::U32 : Type::B64);
  d.target(0, d.operand(0), Type::Pred);
  d.op.run = executeTest;
  d.keepSources();
  d.emit();
}

void decodeArrive(Decoder &d, Form form) {
  if (d.take("expect_tx"))
    form = Form::ArriveExpect;
  d.take("noComplete");
  Space space = takeSpace(d);
  d.expect("b64");
  size_t at = d.operand(0).kind == Operand::Kind::Address ? 0 : 1;
  d.op.flags = uint16_t(form);
  d.op.small[0] = d.address(1, d.operand(at), space);
  if (d.operandCount() > at + 1)
    d.source(2, d.operand(at + 1), Type::U32);
  else if (form == Form::ArriveExpect)
    d.fail("a number of bytes is missing");
  if (at == 1 && d.operand(0).kind != Operand::Kind::Sink)
    d.target(0, d.operand(0), Type::B64);
  d.op.run = executeBarrier;
  d.keepSources();
  d.emit();
}

void decodeBarrier(Decoder &d) {
  if (d.take("test_wait") || d.take("try_wait"))
    return decodeTest(d);
  if (d.take("arrive"))
    return decodeArrive(d, Form::Arrive);
  if (d.take("arrive_drop"))
    return decodeArrive(d, Form::ArriveDrop);
  int form = d.takeOneOf({"init", "inval", "expect_tx", "complete_tx"});
  if (form < 0)
    d.fail("unknown form");
  constexpr Form forms[] = {Form::Init, Form::Invalidate, Form::Expect, Form::Complete};
  d.op.flags = uint16_t(forms[form]);
  Space space = takeSpace(d);
  d.expect("b64");
  d.expectOperands(form == 1 ? 1 : 2, form == 1 ? 1 : 2);
  d.op.small[0] = d.address(1, d.operand(0), space);
  if (form != 1)
    d.source(2, d.operand(1), Type::U32);
  d.op.run = executeBarrier;
  d.emit();
}

} // namespace

void addMessageBarrierInstructions(InstructionTable &table) { table["mbarrier"] = decodeBarrier; }

} // namespace ingot::simulator
