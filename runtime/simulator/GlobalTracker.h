// SPDX-License-Identifier: Apache-2.0
// Full checks of global memory: what launches touch, for programmatic launches that follow them.
#pragma once

#include "runtime/simulator/Addressing.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>

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
  WordSet copied; ///< of those written, by bulk copies
};

/// Follows the accesses of one launch to global memory. Used by all threads of the launch.
class GlobalTracker {
public:
  /// `predecessor` is null where the launch has no programmatic edge.
  explicit GlobalTracker(const PredecessorAccesses *predecessor) : predecessor(predecessor) {}
  void access(Warp &warp, const uint64_t (&addresses)[warpSize], uint32_t bytes, AccessKind kind,
              bool ordered);
  /// One lane's access, such as that of an asynchronous copy.
  void access(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind,
              bool ordered = false);
  /// An access of a bulk copy. What predecessors stored is read behind a fence of proxies only.
  void copy(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind);
  /// Adds what this launch touched.
  void addTo(PredecessorAccesses &accesses) const;

private:
  /// Blocks of a launch meet in global memory only through atomics and ordered accesses.
  void checkBlocks(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind);
  void check(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind);

  const PredecessorAccesses *predecessor;
  std::mutex mutex;
  WordSet written, read, copied;
  static constexpr uint64_t pageBytes = 4096;
  /// Per byte the number of the block that wrote it, plus one.
  std::unordered_map<uint64_t, std::unique_ptr<std::array<uint32_t, pageBytes>>> writers;
  std::unordered_set<uint64_t> synchronised; // blocks that have used an atomic or ordered access
};

} // namespace ingot::simulator
