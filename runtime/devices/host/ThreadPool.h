// SPDX-License-Identifier: Apache-2.0
// Pinned threads that execute the tiles of one launch after another without allocating.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/KernelAbi.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace ingot::runtime {

/// The calling thread is thread 0 and works along. Each thread has an equal part of the tiles, in
/// the order x, y, z, and goes through it from the front; who is done with his own takes from the
/// back of others'. So what a kernel asks memory for ahead of a tile's end is read by the thread
/// that asked, and the same thread reads the same weights in every step. Idle threads spin for a
/// moment, then park. A thread that the system has not woken by the time the tiles run out is not
/// waited for. Threads are pinned to the CPUs of the affinity mask when there is one for each CPU,
/// otherwise the system places them.
class ThreadPool {
public:
  /// Starts `threads - 1` threads, 1 <= threads <= maximumThreads. `scratch[i]` is the scratch
  /// memory of thread i. INGOT-E6014 when a thread cannot be started.
  static Result<std::unique_ptr<ThreadPool>> start(int64_t threads, std::vector<void *> scratch);
  ~ThreadPool();

  static constexpr int64_t maximumThreads = 1024;
  int64_t size() const { return threadCount; }

  /// Runs `kernel` for every tile of `grid`, or once per thread when `spmd`; returns when all is
  /// done. `buffers` and `scalars` are handed to the kernel.
  void run(IngotKernel kernel, bool spmd, void *const *buffers, const int64_t *scalars,
           const int64_t grid[3]);

private:
  static constexpr uint64_t insideMask = 0xffff, closed = 0x10000, generationUnit = 0x20000;

  /// Claims [first, end) of a thread that nobody has taken: `first` in the low half.
  struct alignas(64) Part {
    std::atomic<uint64_t> left{0};

    void set(uint64_t first, uint64_t end);
    /// The number of a claim, which is the caller's now, or -1.
    int64_t takeFront();
    int64_t takeBack();
  };

  ThreadPool(int64_t threads, std::vector<void *> scratch);
  Status startThreads();
  void work(int64_t thread);
  void open();
  uint64_t enter(uint64_t seen);
  void leave();
  void runTiles(int64_t thread);
  void runClaim(int64_t claim, IngotLaunch &call) const;
  void meet();

  int64_t threadCount;
  std::vector<void *> scratch;
  std::vector<std::thread> workers;

  IngotLaunch job = {};
  IngotKernel entry = nullptr;
  bool jobIsSpmd = false;
  int64_t tileCount = 0, tilesPerClaim = 1;

  std::vector<Part> parts; ///< of each thread
  /// Number of the launch, whether it no longer lets threads in, and how many are inside. A thread
  /// enters each launch at most once.
  alignas(64) std::atomic<uint64_t> gate{closed};
  std::atomic<int64_t> unfinished{0}; ///< SPMD: threads that have yet to run the kernel
  alignas(64) std::atomic<int64_t> arrived{0};
  alignas(64) std::atomic<uint32_t> barrierPhase{0};
  std::atomic<bool> stopping{false};
};

} // namespace ingot::runtime
