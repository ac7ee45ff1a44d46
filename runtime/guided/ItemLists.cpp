// SPDX-License-Identifier: Apache-2.0
// Lists of Earley items, each kept once.
#include "runtime/guided/ItemLists.h"

#include "runtime/guided/Hash.h"

#include <algorithm>

namespace ingot::runtime::guided {

uint32_t ItemLists::intern(std::vector<Item> &items) {
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
  if (items.empty())
    return 0;
  uint64_t hash = items.size();
  for (const Item &item : items)
    hash = mixed(hash ^ (uint64_t(item.suffix) << 32 | item.target));
  auto [candidate, end] = index.equal_range(hash);
  for (; candidate != end; ++candidate)
    if (std::ranges::equal((*this)[candidate->second], items))
      return candidate->second;
  const auto id = uint32_t(lists.size());
  lists.push_back({pool.size(), items.size()});
  pool.insert(pool.end(), items.begin(), items.end());
  index.emplace(hash, id);
  return id;
}

} // namespace ingot::runtime::guided
