// SPDX-License-Identifier: Apache-2.0
// Races and uninitialised reads in the shared memory of one block: a vector clock per warp, and the
// last accesses to every byte.
#pragma once

#include "runtime/simulator/Addressing.h"

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
  void acquire(Warp &warp, uint64_t object);
  /// Lanes of a warp see what the others wrote.
  void warpBarrier(Warp &warp, uint32_t lanes);
  /// An access of the lanes in warp.mask, at shared addresses.
  void access(Warp &warp, const uint64_t (&addresses)[warpSize], uint32_t bytes, AccessKind kind,
              bool ordered);

  /// An asynchronous copy of `lane` that will write these bytes; `token` names it until its end.
  void beginCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t bytes, uint32_t token);
  /// The issuing thread has waited for the copy: from now on it is a write of that thread.
  void endCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t bytes, uint32_t token);
  /// Bytes that the asynchronous proxy writes until `object` is acquired.
  void beginBulkWrite(Warp &warp, uint32_t address, uint32_t bytes, uint64_t object);
  /// Bytes that the asynchronous proxy reads until the warp has waited for its groups.
  void beginBulkRead(Warp &warp, uint32_t address, uint32_t bytes);
  void endBulkReads(Warp &warp);
  /// Bank conflicts of one access: the passes beyond the first.
  static uint32_t conflicts(const uint64_t (&addresses)[warpSize], uint32_t mask, uint32_t bytes);
};

} // namespace ingot::simulator
