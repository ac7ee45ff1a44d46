// SPDX-License-Identifier: Apache-2.0
// The race detector of shared memory: every byte knows who wrote it last and which warps have read
// it since, each with the clock of that access.
#include "runtime/simulator/RaceDetector.h"

#include <algorithm>
#include <bit>

namespace ingot::simulator {

void RaceDetector::begin(uint32_t bytes, uint32_t count) {
  warps = count;
  for (uint32_t w = 0; w < warpAgents; ++w) {
    clocks[w].fill(0);
    clocks[w][w] = 1;
    copyReads[w].clear();
    productReads[w].clear();
  }
  laneSync.fill(1);
  fenced.fill(0);
  copyClocks.fill(0);
  objects.clear();
  writes.assign(bytes, Write());
  reads.assign(size_t(bytes) * warps, Read());
  bulkReads.assign(bytes, 0);
  asyncReads.assign(size_t(bytes) * warps, 0);
}

void RaceDetector::release(Warp &warp, uint64_t object) {
  Clock &mine = clocks[warp.index];
  Clock &its = objects[object];
  for (uint32_t i = 0; i < agents; ++i)
    its[i] = std::max(its[i], mine[i]);
  ++mine[warp.index];
}

void RaceDetector::acquire(Warp &warp, uint64_t object, bool wholeWarp) {
  Clock &mine = clocks[warp.index];
  const Clock &its = objects[object];
  for (uint32_t i = 0; i < agents; ++i)
    mine[i] = std::max(mine[i], i == warp.index ? 0 : its[i]);
  if (wholeWarp)
    warpBarrier(warp);
}

void RaceDetector::warpBarrier(Warp &warp) {
  uint32_t &clock = clocks[warp.index][warp.index];
  laneSync[warp.index] = ++clock;
}

void RaceDetector::proxyFence(Warp &warp) {
  uint32_t &clock = clocks[warp.index][warp.index];
  fenced[warp.index] = clock++;
}

bool RaceDetector::precedes(const Warp &warp, uint32_t lane, const Write &before) const {
  if (before.clock == 0)
    return true;
  if (before.agent != warp.index)
    return before.clock <= clocks[warp.index][before.agent];
  return before.lane == lane || before.clock < laneSync[warp.index];
}

void RaceDetector::reportWrite(Warp &warp, uint32_t lane, uint32_t byte, const Write &before,
                               const char *how) {
  std::string what = how;
  if (before.pending)
    what += " bytes of shared memory that a cp.async of warp " + std::to_string(before.agent) +
            " lane " + std::to_string(before.lane) + " is writing, which nobody has waited for";
  else if (before.agent >= warpAgents)
    what += " bytes of shared memory that a bulk copy writes, without having waited for its "
            "mbarrier";
  else if (before.agent == warp.index)
    what += " bytes of shared memory that lane " + std::to_string(before.lane) +
            " of the same warp wrote, without a bar.warp.sync between";
  else
    what += " bytes of shared memory that warp " + std::to_string(before.agent) + " lane " +
            std::to_string(before.lane) + " wrote, without a barrier between";
  bool async = before.pending || before.agent >= warpAgents;
  warp.report(lane, async ? FindingKind::AsyncRace : FindingKind::Race, what, byte + sharedBase);
}

void RaceDetector::read(Warp &warp, uint32_t lane, uint32_t byte, bool ordered) {
  const Write &last = writes[byte];
  if (last.clock == 0)
    return warp.report(lane, FindingKind::Uninitialised,
                       "reads shared memory that nothing has written", byte + sharedBase);
  if (last.pending || (!precedes(warp, lane, last) && !(ordered && last.ordered)))
    return reportWrite(warp, lane, byte, last, "reads");
  Read &mine = reads[size_t(byte) * warps + warp.index];
  uint32_t clock = clocks[warp.index][warp.index];
  mine.severalLanes = mine.clock >= laneSync[warp.index] && mine.clock != 0 &&
                      (mine.severalLanes || mine.lane != lane);
  mine.clock = clock;
  mine.lane = uint8_t(lane);
}

void RaceDetector::write(Warp &warp, uint32_t lane, uint32_t byte, bool ordered, const char *how) {
  Write &last = writes[byte];
  if (last.pending || (!precedes(warp, lane, last) && !(ordered && last.ordered)))
    reportWrite(warp, lane, byte, last, how);
  if (bulkReads[byte])
    warp.report(lane, FindingKind::AsyncRace,
                std::string(how) + " shared memory that an asynchronous operation of warp " +
                    std::to_string(std::countr_zero(bulkReads[byte])) +
                    " reads, which has not been waited for",
                byte + sharedBase);
  for (uint32_t w = 0; w < warps && !ordered; ++w) {
    const Read &before = reads[size_t(byte) * warps + w];
    if (before.clock == 0)
      continue;
    bool free = w == warp.index
                    ? before.clock < laneSync[w] || (before.lane == lane && !before.severalLanes)
                    : before.clock <= clocks[warp.index][w];
    if (free)
      continue;
    warp.report(lane, FindingKind::Race,
                std::string(how) + " shared memory that " +
                    (w == warp.index ? "another lane of the warp" : "warp " + std::to_string(w)) +
                    " has read, without a barrier between",
                byte + sharedBase);
    break;
  }
  last = {clocks[warp.index][warp.index], uint8_t(warp.index), uint8_t(lane), ordered, false};
}

void RaceDetector::access(Warp &warp, const uint64_t (&addresses)[warpSize], uint32_t bytes,
                          AccessKind kind, bool ordered) {
  bool atomic = kind == AccessKind::Atomic || ordered;
  warp.launch->sharedAccesses.fetch_add(1, std::memory_order_relaxed);
  warp.launch->conflicts.fetch_add(conflicts(addresses, warp.mask, bytes),
                                   std::memory_order_relaxed);
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    uint32_t begin = uint32_t(addresses[lane]) - sharedBase;
    if (atomic && kind != AccessKind::Write)
      acquire(warp, addresses[lane]);
    for (uint32_t byte = begin; byte < begin + bytes; ++byte) {
      if (kind != AccessKind::Write)
        read(warp, lane, byte, atomic);
      if (kind != AccessKind::Read)
        write(warp, lane, byte, atomic, kind == AccessKind::Atomic ? "updates" : "writes");
    }
    if (atomic && kind != AccessKind::Read)
      release(warp, addresses[lane]);
  }
}

void RaceDetector::beginCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t bytes) {
  for (uint32_t byte = address - sharedBase; byte < address - sharedBase + bytes; ++byte) {
    write(warp, lane, byte, false, "copies asynchronously to");
    writes[byte].pending = true;
  }
}

void RaceDetector::endCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t bytes) {
  for (uint32_t byte = address - sharedBase; byte < address - sharedBase + bytes; ++byte)
    writes[byte] = {clocks[warp.index][warp.index], uint8_t(warp.index), uint8_t(lane), false,
                    false};
}

uint32_t RaceDetector::beginForeignWrite(uint32_t address, uint32_t bytes, uint64_t object) {
  uint32_t agent = agentOf(object);
  uint32_t number = ++copyClocks[agent - warpAgents];
  for (uint32_t byte = address - sharedBase; byte < address - sharedBase + bytes; ++byte)
    writes[byte] = {number, uint8_t(agent), 0, false, false};
  return number;
}

uint32_t RaceDetector::beginBulkWrite(Warp &warp, uint32_t address, uint32_t bytes,
                                      uint64_t object) {
  uint32_t agent = agentOf(object);
  uint32_t lane = uint32_t(std::countr_zero(warp.mask));
  for (uint32_t byte = address - sharedBase; byte < address - sharedBase + bytes; ++byte) {
    Write &last = writes[byte];
    // A bulk copy may follow another one into bytes that nobody looked at.
    if (last.agent >= warpAgents && last.clock > clocks[warp.index][last.agent])
      last = Write();
    write(warp, lane, byte, false, "copies asynchronously to");
  }
  return beginForeignWrite(address, bytes, object);
}

void RaceDetector::endBulkWrite(uint64_t object, uint32_t number) {
  uint32_t &clock = objects[object][agentOf(object)];
  clock = std::max(clock, number);
}

void RaceDetector::beginAsyncRead(Warp &warp, uint32_t lane, AsyncReads &all,
                                  const AsyncRead &next) {
  for (uint32_t byte = next.byte; byte < next.byte + next.bytes; ++byte) {
    const Write &last = writes[byte];
    if (last.clock && last.agent < warpAgents && !last.pending && precedes(warp, lane, last) &&
        last.clock > fenced[last.agent]) {
      warp.report(lane, FindingKind::AsyncRace,
                  "an asynchronous operation reads what warp " + std::to_string(last.agent) +
                      " stored to shared memory without a fence.proxy.async since",
                  byte + sharedBase);
    } else if (last.agent == warp.index && last.clock && last.agent < warpAgents && !last.pending &&
               last.clock <= fenced[last.agent]) {
      // Another lane's store, fenced: the instruction is the whole warp's.
    } else {
      read(warp, lane, byte, false);
    }
    bulkReads[byte] |= 1u << warp.index;
    ++asyncReads[size_t(byte) * warps + warp.index];
  }
  all[warp.index].push_back(next);
}

void RaceDetector::endAsyncReads(Warp &warp, AsyncReads &all, uint32_t last) {
  std::deque<AsyncRead> &left = all[warp.index];
  for (; !left.empty() && left.front().group <= last; left.pop_front())
    for (uint32_t byte = left.front().byte; byte < left.front().byte + left.front().bytes; ++byte) {
      size_t place = size_t(byte) * warps + warp.index;
      if (--asyncReads[place] == 0)
        bulkReads[byte] &= ~(1u << warp.index);
      reads[place].clock = clocks[warp.index][warp.index];
    }
}

void RaceDetector::beginBulkRead(Warp &warp, uint32_t address, uint32_t bytes) {
  beginAsyncRead(warp, uint32_t(std::countr_zero(warp.mask)), copyReads,
                 {0, address - sharedBase, bytes});
}

void RaceDetector::endBulkReads(Warp &warp) { endAsyncReads(warp, copyReads, 0); }

void RaceDetector::beginProductRead(Warp &warp, uint32_t address, uint32_t bytes, uint32_t group) {
  beginAsyncRead(warp, uint32_t(std::countr_zero(warp.mask)), productReads,
                 {group, address - sharedBase, bytes});
}

void RaceDetector::endProductReads(Warp &warp, uint32_t last) {
  endAsyncReads(warp, productReads, last);
}

uint32_t RaceDetector::conflicts(const uint64_t (&addresses)[warpSize], uint32_t mask,
                                 uint32_t bytes) {
  // Accesses of 8 and 16 bytes take two and four passes, each of as many lanes as fill the banks.
  uint32_t lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, extra = 0;
  for (uint32_t first = 0; first < warpSize; first += lanes) {
    uint32_t words[32][32], counts[32] = {};
    uint32_t most = 0;
    for (uint32_t i = first; i < first + lanes; ++i) {
      if (!(mask >> i & 1))
        continue;
      for (uint32_t k = 0; k < std::max(bytes / 4, 1u); ++k) {
        uint32_t word = uint32_t(addresses[i] / 4) + k, bank = word % 32;
        bool known =
            std::find(words[bank], words[bank] + counts[bank], word) != words[bank] + counts[bank];
        if (!known)
          words[bank][counts[bank]++] = word;
        most = std::max(most, counts[bank]);
      }
    }
    extra += most > 1 ? most - 1 : 0;
  }
  return extra;
}

} // namespace ingot::simulator
