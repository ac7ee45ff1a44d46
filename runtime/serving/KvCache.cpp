// SPDX-License-Identifier: Apache-2.0
// One pool per KV group; a sequence's list of a group has an entry for every block of positions.
#include "runtime/serving/KvCache.h"

#include <algorithm>
#include <numeric>

namespace ingot::runtime {

/// In place of a block that a window has passed, or of a state that is not kept.
static constexpr int32_t passed = -1;

static int64_t roundUpDivide(int64_t dividend, int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

KvCache::KvCache(const std::vector<KvGroupPlan> &groups) : groups(groups) {
  for (const KvGroupPlan &group : groups) {
    pools.emplace_back(group.blocks);
    granularity = std::lcm(granularity, group.blockTokens);
    leastBlock = leastBlock == 0 ? group.blockTokens : std::min(leastBlock, group.blockTokens);
    hasStates |= group.recurrent;
  }
  // A step copies at most one block of each group and sequence, and there are no more than blocks.
  int64_t blocks = 0;
  for (const KvGroupPlan &group : groups)
    blocks += group.blocks;
  pendingCopies.reserve(size_t(blocks));
}

/// Blocks that a sequence of so many positions holds at most.
int64_t KvCache::blocksFor(size_t group, int64_t positions) const {
  return std::min(roundUpDivide(positions, groups[group].blockTokens),
                  groups[group].blocksPerSequence);
}

/// The first block that a token at `position` or behind it sees.
int64_t KvCache::firstVisible(size_t group, int64_t position) const {
  int64_t window = groups[group].window;
  return window > 0 ? std::max<int64_t>(0, position + 1 - window) / groups[group].blockTokens : 0;
}

/// The first block from the sequence's next token on that a step of tokens up to block `end` is to
/// write, of those that it has not. Of recurrent state that is the last one, and the one before,
/// whose end others may start from.
int64_t KvCache::firstWritten(size_t group, const Sequence &sequence, int64_t end) const {
  int64_t visible = firstVisible(group, sequence.computed);
  return groups[group].recurrent ? std::max(visible, end - 2) : visible;
}

bool KvCache::canEverHold(int64_t positions) const {
  for (size_t group = 0; group < groups.size(); ++group)
    if (blocksFor(group, positions) > groups[group].blocks)
      return false;
  return true;
}

void KvCache::prepare(int64_t positions, Sequence &sequence) const {
  sequence.blocks.resize(groups.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    auto blocks = size_t(roundUpDivide(positions, groups[group].blockTokens));
    sequence.blocks[group].blocks.reserve(blocks);
    sequence.blocks[group].names.reserve(blocks);
  }
}

/// Names the first `count` blocks of a sequence, as far as their tokens are known.
void KvCache::nameBlocks(size_t group, Sequence &sequence, int64_t count) const {
  std::vector<BlockHash> &names = sequence.blocks[group].names;
  auto size = size_t(groups[group].blockTokens);
  while (int64_t(names.size()) < count) {
    std::span<const int32_t> tokens = std::span(sequence.tokens).subspan(names.size() * size, size);
    if (std::find(tokens.begin(), tokens.end(), unknownToken) != tokens.end())
      return;
    const BlockHash &parent = names.empty() ? sequence.root : names.back();
    std::vector<uint64_t> pictures;
    if (sequence.pictures)
      sequence.pictures->describe(int64_t(names.size() * size), int64_t((names.size() + 1) * size),
                                  pictures);
    names.push_back(blockHash(parent, tokens, pictures));
  }
}

/// The most tokens that all groups hold the beginning of: a group without a window from the first
/// token on, one with a window as far as the next token looks back.
int64_t KvCache::longestPrefix(Sequence &sequence) {
  // A state is that behind a block's last token, and the last token is computed again.
  auto tokens = int64_t(sequence.tokens.size()) - hasStates;
  for (size_t group = 0; group < groups.size(); ++group) {
    int64_t count = tokens / groups[group].blockTokens;
    nameBlocks(group, sequence, count);
    if (groups[group].window > 0)
      continue;
    const std::vector<BlockHash> &names = sequence.blocks[group].names;
    int64_t found = 0;
    while (found < int64_t(names.size()) && pools[group].find(names[size_t(found)]) >= 0)
      ++found;
    tokens = std::min(tokens, found * groups[group].blockTokens);
  }
  tokens -= tokens % granularity;
  // Shorter for one window, it may be too long for another.
  for (int64_t before = -1; before != tokens;) {
    before = tokens;
    for (size_t group = 0; group < groups.size(); ++group)
      if (groups[group].window > 0)
        tokens = cutToWindow(group, sequence, tokens);
  }
  return tokens;
}

/// The longest prefix, of at most so many tokens, of which a group with a window holds what a token
/// behind it sees.
int64_t KvCache::cutToWindow(size_t group, const Sequence &sequence, int64_t tokens) const {
  const std::vector<BlockHash> &names = sequence.blocks[group].names;
  int64_t size = groups[group].blockTokens, most = int64_t(sequence.tokens.size()) - 1;
  for (int64_t block = tokens / size; block-- > firstVisible(group, std::min(tokens, most));)
    if (block >= int64_t(names.size()) || pools[group].find(names[size_t(block)]) < 0) {
      // It ends before the block that is missing.
      tokens = block * size;
      tokens -= tokens % granularity;
      block = tokens / size;
    }
  return tokens;
}

void KvCache::takePrefix(Sequence &sequence) {
  int64_t tokens = longestPrefix(sequence);
  if (tokens <= 0)
    return;
  sequence.computed = std::min(tokens, int64_t(sequence.tokens.size()) - 1);
  for (size_t group = 0; group < groups.size(); ++group) {
    GroupBlocks &held = sequence.blocks[group];
    int64_t count = tokens / groups[group].blockTokens;
    held.live = std::min(firstVisible(group, sequence.computed), count);
    held.blocks.assign(size_t(held.live), passed);
    for (int64_t block = held.live; block < count; ++block) {
      held.blocks.push_back(pools[group].find(held.names[size_t(block)]));
      pools[group].share(held.blocks.back());
    }
    held.published = count;
  }
}

bool KvCache::takePrompt(const Sequence &other, Sequence &sequence) {
  if (hasStates) // The state behind the last token but one is gone.
    return false;
  int64_t computed = sequence.promptTokens - 1;
  for (size_t group = 0; group < groups.size(); ++group)
    if (other.computed <= computed || other.blocks[group].live > firstVisible(group, computed))
      return false;
  sequence.computed = computed;
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupBlocks &from = other.blocks[group];
    GroupBlocks &held = sequence.blocks[group];
    int64_t count = roundUpDivide(sequence.promptTokens, groups[group].blockTokens);
    int64_t full = sequence.promptTokens / groups[group].blockTokens;
    held.live = firstVisible(group, computed);
    held.blocks.assign(size_t(held.live), passed);
    for (int64_t block = held.live; block < count; ++block) {
      held.blocks.push_back(from.blocks[size_t(block)]);
      pools[group].share(held.blocks.back());
    }
    held.published = std::min(from.published, full);
    held.names.assign(from.names.begin(),
                      from.names.begin() + std::min(full, int64_t(from.names.size())));
  }
  return true;
}

/// Blocks that must be available to write the next `tokens` tokens.
int64_t KvCache::needed(size_t group, const Sequence &sequence, int64_t tokens) const {
  const std::vector<int32_t> &blocks = sequence.blocks[group].blocks;
  auto held = int64_t(blocks.size());
  int64_t first = sequence.computed / groups[group].blockTokens;
  int64_t end = roundUpDivide(sequence.computed + tokens, groups[group].blockTokens);
  int64_t count = std::max<int64_t>(0, end - std::max(held, firstWritten(group, sequence, end)));
  for (int64_t block = first; block < std::min(held, end); ++block)
    count += !pools[group].isWritable(blocks[size_t(block)]);
  return count;
}

bool KvCache::extend(Sequence &sequence, int64_t tokens) {
  for (size_t group = 0; group < groups.size(); ++group)
    if (needed(group, sequence, tokens) > pools[group].available())
      return false;
  for (size_t group = 0; group < groups.size(); ++group) {
    GroupBlocks &held = sequence.blocks[group];
    BlockPool &pool = pools[group];
    int64_t end = roundUpDivide(sequence.computed + tokens, groups[group].blockTokens);
    int64_t first = sequence.computed / groups[group].blockTokens;
    for (int64_t block = first; block < std::min(int64_t(held.blocks.size()), end); ++block) {
      int32_t &shared = held.blocks[size_t(block)];
      if (pool.isWritable(shared))
        continue;
      int32_t own = pool.take();
      pendingCopies.push_back({group, shared, own});
      pool.release(shared);
      shared = own;
      held.published = std::min(held.published, block);
    }
    int64_t visible = firstVisible(group, sequence.computed),
            written = firstWritten(group, sequence, end);
    while (int64_t(held.blocks.size()) < end) {
      auto block = int64_t(held.blocks.size());
      held.live += block < visible;
      held.blocks.push_back(block < written ? passed : pool.take());
    }
  }
  return true;
}

int64_t KvCache::room(const Sequence &sequence, int64_t wanted) const {
  for (size_t group = 0; group < groups.size(); ++group) {
    int64_t size = groups[group].blockTokens;
    while (wanted > 0 && needed(group, sequence, wanted) > pools[group].available()) {
      // One block less: to where the last one begins.
      int64_t last = (sequence.computed + wanted - 1) / size * size;
      wanted = std::max<int64_t>(0, last - sequence.computed);
    }
  }
  return wanted;
}

/// Blocks that a sequence holds at most from now on. While it decodes, recurrent state is two: one
/// goes back before the next is taken.
int64_t KvCache::most(size_t group, const Sequence &sequence) const {
  bool decodes = groups[group].recurrent && sequence.pending() <= 1;
  return decodes ? std::min<int64_t>(2, groups[group].blocksPerSequence)
                 : groups[group].blocksPerSequence;
}

void KvCache::addMissing(const Sequence &sequence, int64_t positions,
                         std::span<int64_t> blocks) const {
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupBlocks &held = sequence.blocks[group];
    int64_t end = roundUpDivide(positions, groups[group].blockTokens);
    int64_t missing =
        std::min(end - firstVisible(group, sequence.computed), most(group, sequence)) -
        (int64_t(held.blocks.size()) - held.live);
    // One that is not its own alone, and that it will write to, becomes a copy, and goes back
    // unless others use it.
    auto next = size_t(sequence.computed / groups[group].blockTokens);
    bool copies = next < held.blocks.size() && !pools[group].isWritable(held.blocks[next]);
    bool isShared = copies && pools[group].isShared(held.blocks[next]);
    blocks[group] += std::max<int64_t>(std::max<int64_t>(0, missing) + isShared, copies);
  }
}

void KvCache::settle(Sequence &sequence) {
  for (size_t group = 0; group < groups.size(); ++group) {
    GroupBlocks &held = sequence.blocks[group];
    int64_t full =
        std::min(sequence.computed / groups[group].blockTokens, int64_t(held.blocks.size()));
    if (held.published < full) {
      nameBlocks(group, sequence, full);
      full = std::min(full, int64_t(held.names.size()));
      for (; held.published < full; ++held.published)
        if (int32_t block = held.blocks[size_t(held.published)]; block != passed)
          pools[group].publish(block, held.names[size_t(held.published)]);
    }
    int64_t visible = std::min(firstVisible(group, sequence.computed), held.published);
    for (; held.live < visible; ++held.live)
      if (int32_t &block = held.blocks[size_t(held.live)]; block != passed) {
        pools[group].release(block);
        block = passed;
      }
  }
}

void KvCache::release(Sequence &sequence) {
  settle(sequence);
  for (size_t group = 0; group < groups.size(); ++group) {
    GroupBlocks &held = sequence.blocks[group];
    // The last ones first: a prefix is of more use than what follows it.
    for (int64_t block = int64_t(held.blocks.size()); block-- > held.live;)
      if (held.blocks[size_t(block)] != passed)
        pools[group].release(held.blocks[size_t(block)]);
    held.blocks.clear();
    held.live = held.published = 0;
  }
}

void KvCache::fillTableRow(size_t group, const Sequence &sequence, int32_t *row) const {
  const GroupBlocks &held = sequence.blocks[group];
  auto count = int64_t(held.blocks.size());
  // Kernels may read, and mask, what lies just before a window: numbers of the sequence's own. A
  // state that is not kept is not written.
  int32_t own = held.live < count ? held.blocks[size_t(held.live)] : 0;
  int32_t other = groups[group].recurrent ? passed : own;
  for (int64_t i = 0; i < groups[group].tableWidth; ++i)
    row[i] = i >= count ? 0 : held.blocks[size_t(i)] == passed ? other : held.blocks[size_t(i)];
}

} // namespace ingot::runtime
