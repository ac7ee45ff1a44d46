// SPDX-License-Identifier: Apache-2.0
// A thread takes the next block until none is left.
#include "compiler/quantize/methods/ParallelBlocks.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace ingot::quantize {

void forEachBlock(int64_t count, unsigned threads, BlockWork work) {
  std::atomic<int64_t> next = 0;
  auto run = [&] {
    for (int64_t block; (block = next.fetch_add(1)) < count;)
      work(block);
  };
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < threads && i < count; ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error &) {
      break; // A system that allows no more threads is served by fewer.
    }
  }
  run();
}

} // namespace ingot::quantize
