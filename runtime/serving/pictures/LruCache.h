// SPDX-License-Identifier: Apache-2.0
// What was made of pictures, kept while memory lasts.
#pragma once

#include "runtime/serving/BlockHash.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>

namespace ingot::runtime {

/// Values of `bytes()` each, those used last, up to `budget` bytes. A list is enough: values of a
/// few MB fill any budget with hundreds. One thread at a time.
template <class Value> class LruCache {
public:
  explicit LruCache(uint64_t budget) : budget(budget) {}

  /// Null where it is not kept.
  std::shared_ptr<const Value> find(const BlockHash &name) {
    auto entry = std::find_if(entries.begin(), entries.end(),
                              [&](const Entry &kept) { return kept.name == name; });
    if (entry == entries.end())
      return nullptr;
    entries.splice(entries.begin(), entries, entry);
    return entry->value;
  }

  void keep(const BlockHash &name, std::shared_ptr<const Value> value) {
    const uint64_t size = value->bytes();
    if (size > budget || find(name))
      return;
    for (bytes += size; bytes > budget; entries.pop_back())
      bytes -= entries.back().bytes;
    entries.push_front({name, std::move(value), size});
  }

private:
  struct Entry {
    BlockHash name;
    std::shared_ptr<const Value> value;
    uint64_t bytes;
  };

  uint64_t budget, bytes = 0;
  std::list<Entry> entries; ///< the last used first
};

} // namespace ingot::runtime
