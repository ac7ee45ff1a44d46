// SPDX-License-Identifier: Apache-2.0
// Numbers by 64-bit keys in one flat table.
#pragma once

#include "runtime/guided/Hash.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::runtime::guided {

/// Open addressing, half full at the most; keys are any but all ones.
class FlatMap {
public:
  static constexpr uint32_t missing = ~0u;

  /// The value of `key`, or `missing`.
  uint32_t find(uint64_t key) const {
    if (slots.empty())
      return missing;
    for (size_t at = mixed(key) & (slots.size() - 1);; at = (at + 1) & (slots.size() - 1)) {
      if (slots[at].key == key)
        return slots[at].value;
      if (slots[at].key == freeKey)
        return missing;
    }
  }

  /// Puts or replaces.
  void put(uint64_t key, uint32_t value) {
    if ((count + 1) * 2 > slots.size())
      grow();
    Slot &slot = slotOf(key);
    count += slot.key == freeKey;
    slot = {key, value};
  }

  void clear() {
    slots = {};
    count = 0;
  }
  size_t size() const { return count; }
  size_t bytes() const { return slots.size() * sizeof(Slot); }

private:
  static constexpr uint64_t freeKey = ~uint64_t(0);
  struct Slot {
    uint64_t key = freeKey;
    uint32_t value = 0;
  };

  Slot &slotOf(uint64_t key) {
    size_t at = mixed(key) & (slots.size() - 1);
    while (slots[at].key != key && slots[at].key != freeKey)
      at = (at + 1) & (slots.size() - 1);
    return slots[at];
  }
  void grow() {
    std::vector<Slot> old(slots.empty() ? 64 : slots.size() * 2);
    std::swap(old, slots);
    for (const Slot &slot : old)
      if (slot.key != freeKey)
        slotOf(slot.key) = slot;
  }

  std::vector<Slot> slots;
  size_t count = 0;
};

} // namespace ingot::runtime::guided
