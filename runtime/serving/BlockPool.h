// SPDX-License-Identifier: Apache-2.0
// The blocks of one KV group: who uses them, what they hold, and which to give up first.
#pragma once

#include "runtime/serving/BlockHash.h"

#include <vector>

namespace ingot::runtime {

/// A block is free (nobody uses it, it holds nothing), used (by one or more), or kept (nobody uses
/// it, its content may be used again). Free ones are taken first, then the kept one that was used
/// least recently. Nothing here allocates after construction.
class BlockPool {
public:
  explicit BlockPool(int64_t blocks);

  /// How many `take` can give: free and kept ones.
  int64_t available() const { return int64_t(free.size()) + keptCount; }

  /// A block that the caller alone uses, without a known content; -1 when none is available.
  int32_t take();
  /// One more uses the block.
  void share(int32_t block);
  /// One fewer uses it.
  void release(int32_t block);

  /// The block, used or kept, with this content; -1 when there is none.
  int32_t find(const BlockHash &content) const;
  /// Says what a used block holds from now on, unless another block holds the same.
  void publish(int32_t block, const BlockHash &content);
  /// Whether its only user may change the block: nobody else sees or finds it.
  bool isWritable(int32_t block) const {
    return entries[size_t(block)].users == 1 && !entries[size_t(block)].published;
  }
  /// Whether several use the block.
  bool isShared(int32_t block) const { return entries[size_t(block)].users > 1; }

private:
  static constexpr int32_t none = -1;
  struct Entry {
    int32_t users = 0;
    bool published = false;
    BlockHash content = {};
    int32_t sameBucket = none;            ///< next of the published ones in its bucket
    int32_t older = none, younger = none; ///< neighbours among kept blocks
  };

  int32_t &bucketOf(const BlockHash &content) {
    return buckets[size_t(content[0]) & (buckets.size() - 1)];
  }
  void forget(int32_t block);
  void unlink(int32_t block);

  std::vector<Entry> entries;
  std::vector<int32_t> buckets; ///< a power of two of them: the first published block of each
  std::vector<int32_t> free;    ///< last one out first
  int32_t oldest = none, youngest = none;
  int64_t keptCount = 0;
};

} // namespace ingot::runtime
