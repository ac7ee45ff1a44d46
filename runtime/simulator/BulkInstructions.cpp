// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk: plain and tensor copies by the asynchronous proxy.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/AsyncCopies.h"
#include "runtime/simulator/GlobalTracker.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"
#include "runtime/simulator/Swizzle.h"
#include "runtime/simulator/TensorMaps.h"

#include <cstring>

namespace ingot::simulator {

namespace {

enum BulkFlag : uint16_t { Multicast = 1, WideTarget = 2, WideSource = 4, WideBarrier = 8 };

/// A barrier and the shared memory that belongs to it, in every block that a copy reaches.
struct Landing {
  Block *block;
  uint32_t target;
  uint32_t barrier;
};

uint64_t operandAddress(Warp &warp, Slot slot, bool wide, uint32_t lane) {
  return wide ? warp.lanes<uint64_t>(slot)[lane] : warp.lanes<uint32_t>(slot)[lane];
}

/// The address without its window; faults where it is not of the space.
bool inSpace(Warp &warp, uint32_t lane, uint64_t &address, Space space) {
  if (address >> 56 == 0 || spaceOf(address) == space)
    return true;
  warp.fault(lane, FindingKind::OutOfBounds, "the address lies in another state space", address);
  return false;
}

/// Where a copy lands: slot[0] target, slot[3] barrier, slot[4] multicast mask.
bool findLandings(Warp &warp, const Op &op, uint32_t lane, uint32_t bytes, uint32_t alignment,
                  std::vector<Landing> &landings) {
  uint64_t target = operandAddress(warp, op.slot[0], op.flags & WideTarget, lane);
  uint64_t barrier = operandAddress(warp, op.slot[3], op.flags & WideBarrier, lane);
  if (!inSpace(warp, lane, target, Space::Shared))
    return false;
  Block *owner = nullptr;
  const uint8_t *pointer = sharedPointer(warp, lane, target, bytes, alignment, &owner);
  BarrierReference found;
  if (!pointer || !findBarrier(warp, lane, barrier, true, found))
    return false;
  uint32_t offset = uint32_t(pointer - owner->shared) + sharedBase;
  if (!(op.flags & Multicast)) {
    landings.push_back({owner, offset, found.address});
    if (owner != found.owner) {
      warp.fault(lane, FindingKind::AsyncProtocol,
                 "the mbarrier lies in another block than the target");
      return false;
    }
    return true;
  }
  uint32_t blocks = warp.lanes<uint32_t>(op.slot[4])[lane] & 0xffff;
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (!(blocks >> rank & 1))
      continue;
    if (rank >= warp.block->cluster->size()) {
      warp.fault(lane, FindingKind::AsyncProtocol,
                 "the multicast mask names block " + std::to_string(rank) +
                     ", which the cluster does not have");
      return false;
    }
    landings.push_back({(*warp.block->cluster)[rank], offset, found.address});
  }
  return true;
}

void completeLanding(const Landing &landing, uint32_t bytes, uint32_t number) {
  if (landing.block->races && number)
    landing.block->races->endBulkWrite(landing.barrier, number);
  auto barrier = landing.block->messageBarriers.find(landing.barrier);
  if (barrier == landing.block->messageBarriers.end())
    return;
  barrier->second.transactions -= bytes;
  settle(*landing.block, barrier->second);
}

void issueLoads(Warp &warp, const std::vector<Landing> &landings, uint32_t bytes,
                const std::function<void(const Landing &)> &perform) {
  for (const Landing &landing : landings) {
    uint32_t number = 0;
    if (RaceDetector *races = landing.block->races)
      number = landing.block == warp.block
                   ? races->beginBulkWrite(warp, landing.target, bytes, landing.barrier)
                   : races->beginForeignWrite(landing.target, bytes, landing.barrier);
    issueBulkCopy(warp, {[perform, landing] { perform(landing); },
                         [landing, bytes, number] { completeLanding(landing, bytes, number); }});
  }
}

/// Plain copy to shared memory: slots target, source, bytes, barrier, mask.
void executeLoad(Warp &warp, const Op &op) {
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    uint32_t bytes = warp.lanes<uint32_t>(op.slot[2])[lane];
    uint64_t source = operandAddress(warp, op.slot[1], true, lane);
    if (bytes % 16)
      return warp.fault(lane, FindingKind::Misaligned,
                        "a bulk copy of " + std::to_string(bytes) +
                            " bytes, which is not a multiple of 16");
    std::vector<Landing> landings;
    if (!inSpace(warp, lane, source, Space::Global))
      return;
    const uint8_t *from = globalPointer(warp, lane, source, bytes, 16);
    if (!from || !findLandings(warp, op, lane, bytes, 16, landings))
      return;
    if (warp.fullChecks)
      warp.launch->tracker->copy(warp, lane, source, bytes, AccessKind::Read);
    issueLoads(warp, landings, bytes, [from, bytes](const Landing &landing) {
      std::memcpy(landing.block->shared + landing.target - sharedBase, from, bytes);
    });
  }
}

void issueStore(Warp &warp, uint32_t lane, std::function<void()> perform) {
  if (!warp.launch->modes.lateCompletion)
    return perform();
  warp.bulkStores.push_back({lane, warp.bulkCommitted[lane], false, std::move(perform)});
}

/// Plain copy to global memory: slots target, source, bytes.
void executeStore(Warp &warp, const Op &op) {
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    uint32_t bytes = warp.lanes<uint32_t>(op.slot[2])[lane];
    uint64_t target = operandAddress(warp, op.slot[0], true, lane);
    uint64_t source = operandAddress(warp, op.slot[1], op.flags & WideSource, lane);
    if (bytes % 16)
      return warp.fault(lane, FindingKind::Misaligned,
                        "a bulk copy of " + std::to_string(bytes) +
                            " bytes, which is not a multiple of 16");
    if (!inSpace(warp, lane, target, Space::Global) || !inSpace(warp, lane, source, Space::Shared))
      return;
    uint8_t *to = globalPointer(warp, lane, target, bytes, 16);
    const uint8_t *from = to ? sharedPointer(warp, lane, source, bytes, 16) : nullptr;
    if (!from)
      return;
    if (warp.block->races)
      warp.block->races->beginBulkRead(warp, uint32_t(from - warp.block->shared) + sharedBase,
                                       bytes);
    if (warp.fullChecks)
      warp.launch->tracker->copy(warp, lane, target, bytes, AccessKind::Write);
    issueStore(warp, lane, [to, from, bytes] { std::memcpy(to, from, bytes); });
  }
}

/// One tensor copy, ready to move its box between global and shared memory.
struct TensorCopy {
  TensorRecipe recipe;
  int32_t at[5];

  uint32_t boxBytes() const {
    uint32_t bytes = recipe.elementBytes;
    for (uint32_t i = 0; i < recipe.rank; ++i)
      bytes *= recipe.box[i];
    return bytes;
  }

  /// Calls move(global address or 0 for out of bounds, offset in the box, bytes) for 16 bytes of
  /// the innermost dimension, which swizzles leave together, or for elements at the tensor's edge.
  template <class F> void forEachRun(F move) const {
    uint32_t inner = recipe.box[0], rows = boxBytes() / (inner * recipe.elementBytes);
    for (uint32_t row = 0; row < rows; ++row) {
      uint64_t address = recipe.address;
      bool inside = true;
      uint32_t rest = row;
      for (uint32_t i = 1; i < recipe.rank; ++i) {
        int64_t place = int64_t(at[i]) + rest % recipe.box[i];
        rest /= recipe.box[i];
        inside &= place >= 0 && place < int64_t(recipe.sizes[i]);
        address += uint64_t(place) * recipe.strides[i];
      }
      uint32_t offset = row * inner * recipe.elementBytes;
      const uint32_t unit = 16u / recipe.elementBytes;
      for (uint32_t x = 0; x < inner; x += unit) {
        int64_t place = int64_t(at[0]) + x, size = int64_t(recipe.sizes[0]);
        bool whole = inside && place >= 0 && place + unit <= size;
        bool none = !inside || place + unit <= 0 || place >= size;
        uint32_t step = whole || none ? unit : 1;
        for (uint32_t i = 0; i < unit; i += step) {
          bool there = whole || (!none && place + i >= 0 && place + i < size);
          move(there ? address + uint64_t(place + i) * recipe.elementBytes : 0,
               offset + (x + i) * recipe.elementBytes, step * recipe.elementBytes);
        }
      }
    }
  }
};

/// Reads the map at `address`.
bool readMap(Warp &warp, uint64_t address, uint32_t lane, TensorRecipe &recipe) {
  Space space = spaceOf(address);
  const uint8_t *from = nullptr;
  if (space == Space::Param && address % 64 == 0 && address + 128 <= warp.launch->parameters.size())
    from = warp.launch->parameters.data() + address;
  else if (space == Space::Global)
    from = globalPointer(warp, lane, address, 128, 64);
  if (from)
    std::memcpy(&recipe, from, sizeof recipe);
  if (from && recipe.magic == tensorRecipeMagic)
    return true;
  warp.fault(lane, FindingKind::Descriptor, "there is no tensor map at this address", address);
  return false;
}

/// A prefetched map: slot[1]. It has no effect, but what is no map is a mistake.
void executeMapPrefetch(Warp &warp, const Op &op) {
  TensorRecipe recipe;
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    if (!readMap(warp, warp.lanes<uint64_t>(op.slot[1])[lane], lane, recipe))
      return;
  }
}

/// Reads the map and the coordinates (the op's list) of a tensor copy; checks that the whole tensor
/// lies in one object of global memory.
bool readTensor(Warp &warp, const Op &op, Slot map, uint32_t lane, TensorCopy &copy) {
  uint64_t address = warp.lanes<uint64_t>(map)[lane];
  if (!readMap(warp, address, lane, copy.recipe))
    return false;
  if (copy.recipe.rank != op.count) {
    warp.fault(lane, FindingKind::Descriptor,
               "the tensor map has rank " + std::to_string(copy.recipe.rank), address);
    return false;
  }
  uint64_t last = copy.recipe.address;
  for (uint32_t i = 0; i < copy.recipe.rank; ++i)
    last += uint64_t(copy.recipe.sizes[i] - 1) * copy.recipe.strides[i];
  uint64_t bytes = last + copy.recipe.elementBytes - copy.recipe.address;
  if (!globalPointer(warp, lane, copy.recipe.address, uint32_t(std::min<uint64_t>(bytes, ~0u)), 16))
    return false;
  const Slot *coordinates = &warp.launch->program->lists[op.list];
  for (uint32_t i = 0; i < op.count; ++i)
    copy.at[i] = warp.lanes<int32_t>(coordinates[i])[lane];
  return true;
}

void trackTensor(Warp &warp, uint32_t lane, const TensorCopy &copy, AccessKind kind) {
  if (warp.fullChecks)
    copy.forEachRun([&](uint64_t address, uint32_t, uint32_t bytes) {
      if (address)
        warp.launch->tracker->copy(warp, lane, address, bytes, kind);
    });
}

/// Tensor copy to shared memory: slots target, map, none, barrier, mask.
void executeTensorLoad(Warp &warp, const Op &op) {
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    TensorCopy copy;
    std::vector<Landing> landings;
    if (!readTensor(warp, op, op.slot[1], lane, copy) ||
        !findLandings(warp, op, lane, copy.boxBytes(), 128, landings))
      return;
    trackTensor(warp, lane, copy, AccessKind::Read);
    issueLoads(warp, landings, copy.boxBytes(), [copy](const Landing &landing) {
      copy.forEachRun([&](uint64_t from, uint32_t offset, uint32_t bytes) {
        uint32_t to = swizzled(landing.target + offset, copy.recipe.swizzle) - sharedBase;
        if (from)
          std::memcpy(landing.block->shared + to, reinterpret_cast<const void *>(from), bytes);
        else
          std::memset(landing.block->shared + to, 0, bytes);
      });
    });
  }
}

/// Tensor copy to global memory: slots none, map, source.
void executeTensorStore(Warp &warp, const Op &op) {
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    TensorCopy copy;
    if (!readTensor(warp, op, op.slot[1], lane, copy))
      return;
    uint64_t source = operandAddress(warp, op.slot[2], op.flags & WideSource, lane);
    if (!inSpace(warp, lane, source, Space::Shared) ||
        !sharedPointer(warp, lane, source, copy.boxBytes(), 128))
      return;
    const uint8_t *shared = warp.block->shared;
    uint32_t begin = uint32_t(source);
    if (warp.block->races)
      warp.block->races->beginBulkRead(warp, begin, copy.boxBytes());
    trackTensor(warp, lane, copy, AccessKind::Write);
    issueStore(warp, lane, [copy, shared, begin] {
      copy.forEachRun([&](uint64_t to, uint32_t offset, uint32_t bytes) {
        if (to)
          std::memcpy(reinterpret_cast<void *>(to),
                      shared + swizzled(begin + offset, copy.recipe.swizzle) - sharedBase, bytes);
      });
    });
  }
}

void executeCommit(Warp &warp, const Op &) {
  for (uint32_t i = 0; i < warpSize; ++i)
    warp.bulkCommitted[i] += warp.mask >> i & 1;
}

void executeWait(Warp &warp, const Op &op) {
  completeBulkStores(warp, warp.mask, uint32_t(op.immediate), false);
}

void executeNothing(Warp &, const Op &) {}

/// An address operand without an offset, as these instructions have them.
void takeAddress(Decoder &d, uint32_t field, size_t at, Space space, uint16_t wideFlag) {
  bool wide = d.address(field, d.operand(at), space);
  if (d.op.immediate != 0)
    d.fail("an offset in this address is not supported");
  if (wide)
    d.op.flags |= wideFlag;
}

void takeTensor(Decoder &d, size_t at, uint32_t rank) {
  const Operand &operand = d.operand(at);
  if (operand.kind != Operand::Kind::Address || operand.elements.size() != 2)
    d.fail("a tensor map and its coordinates are needed");
  Operand map = operand;
  map.elements.resize(1);
  Space generic = Space::Generic;
  d.address(1, map, generic);
  const Operand &coordinates = operand.elements[1];
  std::vector<Operand> list = coordinates.kind == Operand::Kind::Vector
                                  ? coordinates.elements
                                  : std::vector<Operand>{coordinates};
  if (list.size() != rank)
    d.fail("the number of coordinates is not the dimension");
  for (const Operand &element : list)
    d.sourceToList(element, Type::S32);
}

/// The modifiers behind the state spaces, and the operands from `at`: barrier, mask, policy.
void takeCompletion(Decoder &d, size_t at) {
  if (d.take("multicast::cluster")) {
    d.op.flags |= Multicast;
    d.source(4, d.operand(at + 1), Type::B16);
  }
  bool hint = d.take("L2::cache_hint");
  d.expectOperands(at + 1, at + 2 + size_t(hint));
  takeAddress(d, 3, at, Space::Shared, WideBarrier);
}

bool takeShared(Decoder &d) { return d.takeOneOf({"shared::cluster", "shared::cta"}) >= 0; }

void decodeTensor(Decoder &d) {
  int rank = d.takeOneOf({"1d", "2d", "3d", "4d", "5d"}) + 1;
  if (rank < 1)
    d.fail("a dimension is missing");
  if (takeShared(d)) {
    d.expect("global");
    d.take("tile");
    d.expect("mbarrier::complete_tx::bytes");
    takeTensor(d, 1, uint32_t(rank));
    takeAddress(d, 0, 0, Space::Shared, WideTarget);
    takeCompletion(d, 2);
    d.op.run = executeTensorLoad;
  } else {
    d.expect("global");
    d.expect("shared::cta");
    d.take("tile");
    d.expect("bulk_group");
    d.take("L2::cache_hint");
    takeTensor(d, 0, uint32_t(rank));
    takeAddress(d, 2, 1, Space::Shared, WideSource);
    d.op.run = executeTensorStore;
  }
  d.emit();
}

} // namespace

void completeBulkStores(Warp &warp, uint32_t mask, uint32_t keep, bool all) {
  for (BulkStore &store : warp.bulkStores) {
    bool due = all || store.group + keep < warp.bulkCommitted[store.lane];
    if (store.done || !(mask >> store.lane & 1) || !due)
      continue;
    store.perform();
    store.done = true;
    ++warp.block->progress;
  }
  while (!warp.bulkStores.empty() && warp.bulkStores.front().done)
    warp.bulkStores.pop_front();
  if (warp.block->races && (all || keep == 0))
    warp.block->races->endBulkReads(warp);
}

void decodeMapPrefetch(Decoder &d) {
  d.expectOperands(1, 1);
  takeAddress(d, 1, 0, Space::Generic, 0);
  d.op.run = executeMapPrefetch;
  d.emit();
}

void decodeBulkReduction(Decoder &d) { d.fail("this instruction is not supported"); }

void decodeBulk(Decoder &d) {
  d.keepSources();
  if (d.take("commit_group")) {
    d.op.run = executeCommit;
    return d.emit();
  }
  if (d.take("wait_group")) {
    d.take("read");
    d.op.immediate = d.constant(d.operand(0), "the number of groups");
    d.op.run = executeWait;
    return d.emit();
  }
  if (d.take("prefetch")) {
    while (!d.atEnd())
      d.skip();
    d.op.run = executeNothing;
    return d.emit();
  }
  if (d.take("tensor"))
    return decodeTensor(d);
  if (takeShared(d)) {
    d.expect("global");
    d.expect("mbarrier::complete_tx::bytes");
    takeAddress(d, 1, 1, Space::Global, 0);
    takeAddress(d, 0, 0, Space::Shared, WideTarget);
    d.source(2, d.operand(2), Type::U32);
    takeCompletion(d, 3);
    d.op.run = executeLoad;
    return d.emit();
  }
  d.expect("global");
  d.expect("shared::cta");
  d.expect("bulk_group");
  d.take("L2::cache_hint");
  d.expectOperands(3, 4);
  takeAddress(d, 0, 0, Space::Global, 0);
  takeAddress(d, 1, 1, Space::Shared, WideSource);
  d.source(2, d.operand(2), Type::U32);
  d.op.run = executeStore;
  d.emit();
}

} // namespace ingot::simulator
