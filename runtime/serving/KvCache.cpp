// SPDX-License-Identifier: Apache-2.0
// Free lists, one per KV group, filled once.
#include "runtime/serving/KvCache.h"

#include <algorithm>

namespace ingot::runtime {

KvCache::KvCache(const std::vector<KvGroupPlan> &groups) : groups(groups) {
  for (const KvGroupPlan &group : groups) {
    std::vector<int32_t> &list = free.emplace_back();
    for (int64_t block = group.blocks; block-- > 0;)
      list.push_back(int32_t(block));
  }
}

int64_t KvCache::blocksFor(size_t group, int64_t positions) const {
  int64_t all = (positions + groups[group].blockTokens - 1) / groups[group].blockTokens;
  return std::min(all, groups[group].blocksPerSequence);
}

bool KvCache::canEverHold(int64_t positions) const {
  for (size_t group = 0; group < groups.size(); ++group)
    if (blocksFor(group, positions) > groups[group].blocks)
      return false;
  return true;
}

void KvCache::prepare(int64_t positions, SequenceBlocks &blocks) const {
  blocks.resize(groups.size());
  for (size_t group = 0; group < groups.size(); ++group)
    blocks[group].reserve(size_t(blocksFor(group, positions)));
}

bool KvCache::reserve(int64_t positions, SequenceBlocks &blocks) {
  for (size_t group = 0; group < groups.size(); ++group)
    if (blocksFor(group, positions) > freeBlocks(group))
      return false;
  blocks.resize(groups.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    int64_t needed = blocksFor(group, positions);
    blocks[group].assign(free[group].rbegin(), free[group].rbegin() + needed);
    free[group].resize(free[group].size() - size_t(needed));
  }
  return true;
}

void KvCache::release(SequenceBlocks &blocks) {
  for (size_t group = 0; group < blocks.size(); ++group) {
    free[group].insert(free[group].end(), blocks[group].rbegin(), blocks[group].rend());
    blocks[group].clear();
  }
}

void KvCache::fillTableRow(size_t group, const SequenceBlocks &blocks, int32_t *row) const {
  const std::vector<int32_t> &owned = blocks[group];
  int64_t held = int64_t(owned.size());
  bool inTurn = held == groups[group].blocksPerSequence;
  for (int64_t i = 0; i < groups[group].tableWidth; ++i)
    row[i] = i < held ? owned[size_t(i)] : inTurn && held ? owned[size_t(i % held)] : 0;
}

} // namespace ingot::runtime
