// SPDX-License-Identifier: Apache-2.0
// Lists of Earley items, each kept once.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot::runtime::guided {

/// What is left of an alternative, and where to go on behind it. Suffix 0: the alternative is
/// complete; return 0: behind the start symbol.
struct Item {
  uint32_t suffix;
  uint32_t target;
  auto operator<=>(const Item &) const = default;
};

/// Equal lists have one id; 0 is the empty list.
class ItemLists {
public:
  ItemLists() { lists.push_back({0, 0}); }

  /// Sorts `items` and drops repetitions.
  uint32_t intern(std::vector<Item> &items);
  std::span<const Item> operator[](uint32_t id) const {
    return {pool.data() + lists[id].begin, lists[id].count};
  }
  size_t bytes() const { return pool.size() * sizeof(Item) + lists.size() * 48; }

private:
  struct Place {
    size_t begin;
    size_t count;
  };

  std::vector<Item> pool;
  std::vector<Place> lists;
  std::unordered_multimap<uint64_t, uint32_t> index; ///< by hash
};

} // namespace ingot::runtime::guided
