// SPDX-License-Identifier: Apache-2.0
// One loop, side by side.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace ingot::codegen {

/// `asked`, or where that is 0 as many threads as the machine runs.
inline unsigned usableThreads(unsigned asked) {
  return asked != 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

/// Calls `work` once for each index below `count`, on up to `threads` threads, the caller's among
/// them; returns when all calls have.
inline void forEachParallel(size_t count, size_t threads, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::thread> workers;
  for (size_t i = 1; i < std::min(threads, count); ++i)
    workers.emplace_back(run);
  run();
  for (std::thread &worker : workers)
    worker.join();
}

} // namespace ingot::codegen
