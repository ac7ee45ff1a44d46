// SPDX-License-Identifier: Apache-2.0
// Which blocks of the KV cache hold what, and who uses them; the bytes are the device's.
#pragma once

#include "runtime/engine/MemoryPlan.h"
#include "runtime/serving/BlockPool.h"
#include "runtime/serving/Sequence.h"

#include <span>

namespace ingot::runtime {

/// A block whose bytes a step finds copied to another one.
struct BlockCopy {
  size_t group;
  int32_t from, to;
};

/// Sequences take blocks as they grow and share those with equal tokens before and in them. The
/// groups are independent: a sliding window's blocks go back once no later position sees them, and
/// of recurrent state all but the last two, which others find at their ends as long as nobody takes
/// them.
/// Nothing here allocates once a sequence is prepared.
class KvCache {
public:
  explicit KvCache(const std::vector<KvGroupPlan> &groups);

  /// True when a sequence of this many positions can ever fit an empty cache.
  bool canEverHold(int64_t positions) const;
  /// Makes room in the lists of a sequence of at most so many positions.
  void prepare(int64_t positions, Sequence &sequence) const;

  /// Gives a sequence without blocks those that hold the beginning of its tokens, in all groups,
  /// and counts them as computed; the last token is always left to compute.
  void takePrefix(Sequence &sequence);
  /// Gives a sequence without blocks those of `other`, whose first `promptTokens` tokens are the
  /// same, and counts all but the last of these as computed. False when `other` no longer has all
  /// that is needed, as recurrent state.
  bool takePrompt(const Sequence &other, Sequence &sequence);

  /// Takes the blocks that the next `tokens` tokens of a sequence are written to, in every group or
  /// in none; one that others see is replaced by a copy. False when too few are available.
  bool extend(Sequence &sequence, int64_t tokens);
  /// Tokens, at most `wanted`, that a sequence can be extended by.
  int64_t room(const Sequence &sequence, int64_t wanted) const;
  /// Adds to each group's entry the blocks that a sequence will still take to reach so many
  /// positions.
  void addMissing(const Sequence &sequence, int64_t positions, std::span<int64_t> blocks) const;

  /// Lets others find the blocks that a sequence has filled with tokens that are known, and gives
  /// back those that its window has passed.
  void settle(Sequence &sequence);
  /// Gives back all blocks of a sequence; what they hold can be found until they are taken.
  void release(Sequence &sequence);

  /// What is to be copied, in this order, before the next step runs. The caller clears it.
  std::vector<BlockCopy> &copies() { return pendingCopies; }

  /// Tokens of a block of the group with the smallest ones.
  int64_t leastBlockTokens() const { return leastBlock; }
  int64_t availableBlocks(size_t group) const { return pools[group].available(); }

  /// Fills a sequence's row of a group's block table: entry i is the block of positions
  /// [i * blockTokens, (i + 1) * blockTokens), another one of the sequence where a window has
  /// passed that, -1 where a state is not kept, and 0 behind the last.
  void fillTableRow(size_t group, const Sequence &sequence, int32_t *row) const;

private:
  int64_t blocksFor(size_t group, int64_t positions) const;
  int64_t most(size_t group, const Sequence &sequence) const;
  int64_t firstVisible(size_t group, int64_t position) const;
  int64_t firstWritten(size_t group, const Sequence &sequence, int64_t end) const;
  int64_t needed(size_t group, const Sequence &sequence, int64_t tokens) const;
  void nameBlocks(size_t group, Sequence &sequence, int64_t count) const;
  int64_t longestPrefix(Sequence &sequence);
  int64_t cutToWindow(size_t group, const Sequence &sequence, int64_t tokens) const;

  std::vector<KvGroupPlan> groups;
  std::vector<BlockPool> pools;
  int64_t granularity = 1; ///< tokens: a multiple of every group's block
  int64_t leastBlock = 0;  ///< tokens
  bool hasStates = false;  ///< a group is of recurrent state
  std::vector<BlockCopy> pendingCopies;
};

} // namespace ingot::runtime
