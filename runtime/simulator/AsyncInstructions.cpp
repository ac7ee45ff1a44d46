// SPDX-License-Identifier: Apache-2.0
// cp.async: copies of 4, 8 or 16 bytes a thread from global to shared memory, in groups.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/AsyncCopies.h"
#include "runtime/simulator/GlobalTracker.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"

#include <cstring>

namespace ingot::simulator {

void decodeBulk(Decoder &d);
void decodeBulkReduction(Decoder &d);

namespace {

void copyLane(const CopyBatch &batch, uint32_t lane) {
  std::memcpy(batch.target[lane], batch.source[lane], batch.copied[lane]);
  std::memset(batch.target[lane] + batch.copied[lane], 0, batch.bytes - batch.copied[lane]);
}

uint32_t sharedAddress(const Warp &warp, const uint8_t *pointer) {
  return uint32_t(pointer - warp.block->shared) + sharedBase;
}

void endLane(Warp &warp, const CopyBatch &batch, uint32_t lane) {
  if (warp.launch->modes.lateCompletion)
    copyLane(batch, lane);
  if (warp.block->races)
    warp.block->races->endCopy(warp, lane, sharedAddress(warp, batch.target[lane]), batch.bytes);
}

/// slot[1] target, slot[2] source, slot[3] bytes to copy or none. small: 0 whether the target's
/// address is wide, 1 its bytes.
void executeCopy(Warp &warp, const Op &op) {
  Access access;
  access.space = Space::Shared;
  access.wide = op.small[0];
  access.bytes = op.small[1];
  access.kind = AccessKind::Atomic; // checked as a write below, by the race detector's own means
  access.ordered = true;
  CopyBatch batch;
  LanePointers targets;
  bool checks = warp.fullChecks;
  warp.fullChecks = false;
  bool good = resolve(warp, op.slot[1], op.immediate, access, targets);
  warp.fullChecks = checks;
  if (!good)
    return;
  const auto *sources = warp.lanes<uint64_t>(op.slot[2]);
  int64_t sourceOffset = int32_t(op.list);
  batch.mask = warp.mask;
  batch.bytes = op.small[1];
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t source = sources[i] + uint64_t(sourceOffset);
    uint32_t copied = batch.bytes;
    if (op.slot[3] != noSlot)
      copied = op.flags & 1 ? (warp.predicate(op.slot[3]) >> i & 1 ? 0 : copied)
                            : warp.lanes<uint32_t>(op.slot[3])[i];
    if (copied > batch.bytes)
      return warp.fault(i, FindingKind::AsyncProtocol,
                        "copies " + std::to_string(copied) + " bytes of " +
                            std::to_string(batch.bytes));
    if (copied && !globalPointer(warp, i, source, batch.bytes, batch.bytes))
      return;
    batch.target[i] = targets[i];
    batch.source[i] = reinterpret_cast<const uint8_t *>(source);
    batch.copied[i] = uint8_t(copied);
    if (!warp.launch->modes.lateCompletion)
      copyLane(batch, i);
    if (warp.block->races)
      warp.block->races->beginCopy(warp, i, sharedAddress(warp, targets[i]), batch.bytes);
    if (warp.fullChecks && copied)
      warp.launch->tracker->access(warp, i, source, copied, AccessKind::Read);
  }
  if (!warp.launch->modes.lateCompletion && !warp.fullChecks)
    return;
  // Lanes that have committed different numbers of groups go into batches of their own.
  for (uint32_t left = batch.mask; left;) {
    uint32_t group = warp.committed[std::countr_zero(left)];
    CopyBatch part = batch;
    part.group = group;
    part.mask = 0;
    for (uint32_t i = 0; i < warpSize; ++i)
      part.mask |= uint32_t((left >> i & 1) && warp.committed[i] == group) << i;
    left &= ~part.mask;
    warp.copies.push_back(part);
  }
}

void executeCommit(Warp &warp, const Op &) {
  for (uint32_t i = 0; i < warpSize; ++i)
    warp.committed[i] += warp.mask >> i & 1;
}

void executeWait(Warp &warp, const Op &op) {
  completeCopies(warp, warp.mask, uint32_t(op.immediate), op.flags & 1);
}

/// The barrier learns of the copies that a thread has issued so far, when they are complete.
void executeArrive(Warp &warp, const Op &op) {
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t address =
        (op.small[0] ? warp.lanes<uint64_t>(op.slot[1])[i] : warp.lanes<uint32_t>(op.slot[1])[i]) +
        uint64_t(op.immediate);
    BarrierReference found;
    if (!findBarrier(warp, i, address, true, found))
      return;
    if (!(op.flags & 1))
      ++found.barrier->pending; // without .noinc the arrival is added to what is awaited
    Warp *issuer = &warp;
    issueBulkCopy(warp, {[issuer, i] { completeCopies(*issuer, 1u << i, 0, true); },
                         [issuer, found] {
                           if (issuer->block->races)
                             issuer->block->races->release(*issuer, found.address);
                           --found.barrier->pending;
                           settle(*found.owner, *found.barrier);
                         }});
  }
}

void decodeArrive(Decoder &d) {
  d.expect("arrive");
  d.op.flags = d.take("noinc");
  Space space = Space::Generic;
  if (d.take("shared") || d.take("shared::cta"))
    space = Space::Shared;
  d.expect("b64");
  d.op.small[0] = d.address(1, d.operand(0), space);
  d.op.run = executeArrive;
  d.emit();
}

void decodeCopy(Decoder &d) {
  if (d.take("commit_group")) {
    d.op.run = executeCommit;
    return d.emit();
  }
  if (d.take("wait_all")) {
    d.op.run = executeWait;
    d.op.flags = 1;
    return d.emit();
  }
  if (d.take("wait_group")) {
    d.op.run = executeWait;
    d.op.immediate = d.constant(d.operand(0), "the number of groups");
    return d.emit();
  }
  if (d.take("mbarrier"))
    return decodeArrive(d);
  bool bypass = d.take("cg");
  if (!bypass)
    d.expect("ca");
  if (!d.take("shared::cta"))
    d.expect("shared");
  d.expect("global");
  bool hint = false;
  while (!d.atEnd()) {
    hint |= d.peek() == "L2::cache_hint";
    if (!d.peek().starts_with("L2::"))
      d.fail("modifier ." + std::string(d.peek()) + " is not supported");
    d.skip();
  }
  d.expectOperands(3, 5);
  int64_t bytes = d.constant(d.operand(2), "the size");
  if (bytes != 16 && (bypass || (bytes != 4 && bytes != 8)))
    d.fail("a copy has 4, 8 or 16 bytes, with .cg 16");
  Space global = Space::Global, shared = Space::Shared;
  d.address(2, d.operand(1), global);
  if (d.op.immediate != int32_t(d.op.immediate))
    d.fail("the offset is too large");
  d.op.list = uint32_t(int32_t(d.op.immediate));
  d.op.small[0] = d.address(1, d.operand(0), shared);
  d.op.small[1] = uint8_t(bytes);
  if (d.operandCount() - size_t(hint) > 3) {
    bool ignore = d.registerType(d.operand(3)) == Type::Pred;
    d.source(3, d.operand(3), ignore ? Type::Pred : Type::U32);
    d.op.flags = ignore;
  }
  d.op.run = executeCopy;
  d.emit();
}

} // namespace

void completeCopies(Warp &warp, uint32_t mask, uint32_t keep, bool all) {
  bool any = false;
  for (CopyBatch &batch : warp.copies) {
    uint32_t ready = batch.mask & mask;
    for (uint32_t left = ready; left; left &= left - 1) {
      uint32_t lane = uint32_t(std::countr_zero(left));
      if (!all && batch.group + keep >= warp.committed[lane]) {
        ready &= ~(1u << lane);
        continue;
      }
      endLane(warp, batch, lane);
    }
    batch.mask &= ~ready;
    any |= ready != 0;
  }
  while (!warp.copies.empty() && warp.copies.front().mask == 0)
    warp.copies.pop_front();
  warp.block->progress += any;
}

void addAsyncInstructions(InstructionTable &table) {
  table["cp"] = [](Decoder &d) {
    if (d.take("reduce"))
      return decodeBulkReduction(d);
    d.expect("async");
    if (d.take("bulk"))
      return decodeBulk(d);
    decodeCopy(d);
  };
}

} // namespace ingot::simulator
