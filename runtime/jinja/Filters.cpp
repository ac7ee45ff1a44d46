// SPDX-License-Identifier: Apache-2.0
// Filters: what stands behind `|`.
#include "runtime/jinja/Filters.h"

#include <unordered_map>

namespace ingot::runtime::jinja {

FilterFunction findFilter(std::string_view name) {
  static const auto all = [] {
    std::unordered_map<std::string_view, FilterFunction> byName;
    for (const auto &table : {textFilters(), wrappingFilters(), htmlFilters(), sequenceFilters(),
                              selectingFilters(), valueFilters()})
      for (const Filter &filter : table)
        byName.emplace(filter.name, filter.run);
    return byName;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

} // namespace ingot::runtime::jinja
