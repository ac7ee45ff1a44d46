// SPDX-License-Identifier: Apache-2.0
// Which blocks of the KV cache belong to whom; the bytes themselves are the device's.
#pragma once

#include "runtime/engine/MemoryPlan.h"
#include "runtime/serving/Sequence.h"

#include <span>

namespace ingot::runtime {

class KvCache {
public:
  explicit KvCache(const std::vector<KvGroupPlan> &groups);

  /// True when a sequence of this many positions can ever fit an empty cache.
  bool canEverHold(int64_t positions) const;
  /// Makes room in `blocks` for such a sequence, so that `reserve` need not allocate.
  void prepare(int64_t positions, SequenceBlocks &blocks) const;
  /// Takes the blocks for so many positions, in every group or in none. False when there are too
  /// few free ones. `blocks` must be empty or released.
  bool reserve(int64_t positions, SequenceBlocks &blocks);
  /// Gives back all blocks.
  void release(SequenceBlocks &blocks);

  int64_t freeBlocks(size_t group) const { return int64_t(free[group].size()); }

  /// Fills a sequence's row of a group's block table: entry i is the block of positions
  /// [i * blockTokens, (i + 1) * blockTokens). A sliding group reuses its blocks in turn; entries
  /// past the reservation are 0.
  void fillTableRow(size_t group, const SequenceBlocks &blocks, int32_t *row) const;

private:
  int64_t blocksFor(size_t group, int64_t positions) const;

  std::vector<KvGroupPlan> groups;
  std::vector<std::vector<int32_t>> free; ///< last one out first
};

} // namespace ingot::runtime
