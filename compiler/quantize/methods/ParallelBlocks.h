// SPDX-License-Identifier: Apache-2.0
// Work in blocks whose results do not depend on each other.
#pragma once

#include <cstdint>

namespace ingot::quantize {

/// A reference to something that is called with the number of a block. Unlike std::function it
/// leaves no code that sources of other instruction sets could share.
class BlockWork {
public:
  template <class Work>
  BlockWork(const Work &work)
      : work(&work),
        call([](const void *which, int64_t block) { (*static_cast<const Work *>(which))(block); }) {
  }
  void operator()(int64_t block) const { call(work, block); }

private:
  const void *work;
  void (*call)(const void *, int64_t);
};

/// Calls `work` once for each of the blocks 0 ... count - 1, on up to `threads` threads, in any
/// order.
void forEachBlock(int64_t count, unsigned threads, BlockWork work);

} // namespace ingot::quantize
