// SPDX-License-Identifier: Apache-2.0
// Remembers the ids of short words, because most words of a text come again. A table of fixed size
// in which a new word takes the place of another.
#include "runtime/serving/WordCache.h"

#include "runtime/serving/TextHash.h"

#include <algorithm>

namespace ingot::runtime {

bool WordCache::find(std::string_view word, std::vector<int32_t> &ids) const {
  if (word.size() > maxWordBytes || slots.empty())
    return false;
  const Slot &slot = slots[hashText(word) % slotCount];
  if (std::string_view(slot.word, slot.size) != word)
    return false;
  ids.insert(ids.end(), slot.ids, slot.ids + slot.count);
  return true;
}

void WordCache::insert(std::string_view word, std::span<const int32_t> ids) {
  if (word.size() > maxWordBytes || ids.size() > maxIds)
    return;
  if (slots.empty())
    slots.resize(slotCount);
  Slot &slot = slots[hashText(word) % slotCount];
  slot.size = static_cast<uint8_t>(word.size());
  slot.count = static_cast<uint8_t>(ids.size());
  std::copy(word.begin(), word.end(), slot.word);
  std::copy(ids.begin(), ids.end(), slot.ids);
}

} // namespace ingot::runtime
