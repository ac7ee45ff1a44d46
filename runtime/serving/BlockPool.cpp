// SPDX-License-Identifier: Apache-2.0
// Lists through the entries: one of kept blocks by age, one for each bucket of the hash table.
#include "runtime/serving/BlockPool.h"

#include <bit>

namespace ingot::runtime {

BlockPool::BlockPool(int64_t blocks)
    : entries(size_t(blocks)), buckets(std::bit_ceil(size_t(blocks) * 2 + 1), none) {
  free.reserve(size_t(blocks));
  for (int64_t block = blocks; block-- > 0;)
    free.push_back(int32_t(block));
}

int32_t BlockPool::take() {
  int32_t block;
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
  } else if (oldest != none) {
    block = oldest;
    unlink(block);
    forget(block);
  } else {
    return none;
  }
  entries[size_t(block)].users = 1;
  return block;
}

void BlockPool::share(int32_t block) {
  if (entries[size_t(block)].users++ == 0)
    unlink(block);
}

void BlockPool::release(int32_t block) {
  Entry &entry = entries[size_t(block)];
  if (--entry.users > 0)
    return;
  if (!entry.published) {
    free.push_back(block);
    return;
  }
  entry.older = youngest;
  entry.younger = none;
  (youngest == none ? oldest : entries[size_t(youngest)].younger) = block;
  youngest = block;
  ++keptCount;
}

/// Takes a block out of the kept ones.
void BlockPool::unlink(int32_t block) {
  Entry &entry = entries[size_t(block)];
  (entry.older == none ? oldest : entries[size_t(entry.older)].younger) = entry.younger;
  (entry.younger == none ? youngest : entries[size_t(entry.younger)].older) = entry.older;
  --keptCount;
}

int32_t BlockPool::find(const BlockHash &content) const {
  int32_t block = buckets[size_t(content[0]) & (buckets.size() - 1)];
  while (block != none && entries[size_t(block)].content != content)
    block = entries[size_t(block)].sameBucket;
  return block;
}

void BlockPool::publish(int32_t block, const BlockHash &content) {
  Entry &entry = entries[size_t(block)];
  if (entry.published || find(content) != none)
    return;
  int32_t &bucket = bucketOf(content);
  entry.published = true;
  entry.content = content;
  entry.sameBucket = bucket;
  bucket = block;
}

/// The block's content can be found no more.
void BlockPool::forget(int32_t block) {
  Entry &entry = entries[size_t(block)];
  int32_t *link = &bucketOf(entry.content);
  while (*link != block)
    link = &entries[size_t(*link)].sameBucket;
  *link = entry.sameBucket;
  entry.published = false;
}

} // namespace ingot::runtime
