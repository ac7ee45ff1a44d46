// SPDX-License-Identifier: Apache-2.0
// Full checks of global memory: what launches touch, for programmatic launches that follow them.
#pragma once

#include "runtime/simulator/Addressing.h"

#include <unordered_map>

namespace ingot::simulator {

/// A set of 4-byte words of global memory.
class WordSet {
public:
  void insert(uint64_t address, uint32_t bytes);
  bool contains(uint64_t address, uint32_t bytes) const;
  void insertAll(const WordSet &other);

private:
  static constexpr uint64_t pageBytes = 4096;
  std::unordered_map<uint64_t, std::array<uint64_t, pageBytes / 4 / 64>> pages;
};

/// What kernels touched that may still be running when a programmatic dependent begins.
struct PredecessorAccesses {
  std::string kernels; // their names
  WordSet written, read;
};

/// Follows the accesses of one launch to global memory. Used by all threads of the launch.
class GlobalTracker {
public:
  /// `predecessor` is null where the launch has no programmatic edge.
  explicit GlobalTracker(const PredecessorAccesses *predecessor) : predecessor(predecessor) {}
  void access(Warp &warp, const uint64_t (&addresses)[warpSize], uint32_t bytes, AccessKind kind);
  /// One lane's access, such as that of an asynchronous copy.
  void access(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind);
  /// Adds what this launch touched.
  void addTo(PredecessorAccesses &accesses) const;

private:
  void check(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind);

  const PredecessorAccesses *predecessor;
  std::mutex mutex;
  WordSet written, read;
};

} // namespace ingot::simulator
