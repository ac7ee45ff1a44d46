// SPDX-License-Identifier: Apache-2.0
// Races and uninitialised reads in the shared memory of one block: a vector clock per warp, and the
// last accesses to every byte.
#pragma once

#include "runtime/simulator/Addressing.h"

#include <array>
#include <deque>
#include <unordered_map>

namespace ingot::simulator {

/// Follows happens-before between the warps of a block, and agents that stand for asynchronous
/// copies. One thread uses it at a time.
class RaceDetector {
public:
  /// Objects through which warps synchronise: named barriers, then addresses.
  static constexpr uint64_t barrierObject(uint32_t number) { return uint64_t(1) << 40 | number; }
  static constexpr uint64_t clusterObject = uint64_t(2) << 40;

  /// Begins a block with fresh memory of `bytes`.
  void begin(uint32_t bytes, uint32_t warps);
  /// What the warp did so far happens before what others do after they acquire the object.
  void release(Warp &warp, uint64_t object);
  /// `wholeWarp`: the lanes of the warp synchronise with one another, too.
  void acquire(Warp &warp, uint64_t object, bool wholeWarp = false);
  /// Lanes of a warp see what the others wrote.
  void warpBarrier(Warp &warp);
  /// fence.proxy.async: the asynchronous proxy may read what the warp wrote so far.
  void proxyFence(Warp &warp);
  /// An access of the lanes in warp.mask, at shared addresses.
  void access(Warp &warp, const uint64_t (&addresses)[warpSize], uint32_t bytes, AccessKind kind,
              bool ordered);

  /// An asynchronous copy of `lane` that will write these bytes.
  void beginCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t bytes);
  /// The issuing thread has waited for the copy: from now on it is a write of that thread.
  void endCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t bytes);
  /// Bytes that the asynchronous proxy writes; who acquires `object` after endBulkWrite, which
  /// takes the returned number, sees them.
  uint32_t beginBulkWrite(Warp &warp, uint32_t address, uint32_t bytes, uint64_t object);
  /// The same for a write from another block of the cluster, whose order with this block's own
  /// accesses is not checked.
  uint32_t beginForeignWrite(uint32_t address, uint32_t bytes, uint64_t object);
  void endBulkWrite(uint64_t object, uint32_t number);
  /// Bytes that the asynchronous proxy reads until the warp has waited for it: for a bulk copy, or
  /// for a wgmma of a group, groups up to `last` of which are complete.
  void beginBulkRead(Warp &warp, uint32_t address, uint32_t bytes);
  void endBulkReads(Warp &warp);
  void beginProductRead(Warp &warp, uint32_t address, uint32_t bytes, uint32_t group);
  void endProductReads(Warp &warp, uint32_t last);
  /// The passes beyond the first that the memory's banks need for an access.
  static uint32_t conflicts(const uint64_t (&addresses)[warpSize], uint32_t mask, uint32_t bytes);

private:
  static constexpr uint32_t warpAgents = 32, copyAgents = 16, agents = warpAgents + copyAgents;
  using Clock = std::array<uint32_t, agents>;

  struct Write {
    uint32_t clock = 0; // 0: never written
    uint8_t agent = 0, lane = 0;
    bool ordered = false, pending = false; // pending: a cp.async that was not waited for
  };
  struct Read {
    uint32_t clock = 0;
    uint8_t lane = 0;
    bool severalLanes = false;
  };

  struct AsyncRead {
    uint32_t group, byte, bytes;
  };
  using AsyncReads = std::array<std::deque<AsyncRead>, warpAgents>;

  void beginAsyncRead(Warp &warp, uint32_t lane, AsyncReads &all, const AsyncRead &read);
  void endAsyncReads(Warp &warp, AsyncReads &all, uint32_t last);
  void read(Warp &warp, uint32_t lane, uint32_t byte, bool ordered);
  void write(Warp &warp, uint32_t lane, uint32_t byte, bool ordered, const char *how);
  /// Whether the write happens before the lane's next step.
  bool precedes(const Warp &warp, uint32_t lane, const Write &before) const;
  void reportWrite(Warp &warp, uint32_t lane, uint32_t byte, const Write &before, const char *how);
  uint32_t agentOf(uint64_t object) const { return warpAgents + uint32_t(object / 8) % copyAgents; }

  uint32_t warps = 0;
  std::array<Clock, warpAgents> clocks;
  std::array<uint32_t, warpAgents> laneSync; // clock of the last barrier among the lanes
  std::array<uint32_t, warpAgents> fenced;   // clock of the last proxy fence
  std::array<uint32_t, copyAgents> copyClocks;
  std::unordered_map<uint64_t, Clock> objects;
  std::vector<Write> writes;        // per byte
  std::vector<Read> reads;          // per byte and warp
  std::vector<uint32_t> bulkReads;  // per byte: warps whose asynchronous reads are not complete
  std::vector<uint16_t> asyncReads; // per byte and warp: how many are not
  AsyncReads copyReads, productReads;
};

} // namespace ingot::simulator
