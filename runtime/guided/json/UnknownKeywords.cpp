// SPDX-License-Identifier: Apache-2.0
// Tells misspellings and foreign keywords from annotations.
#include "runtime/guided/json/UnknownKeywords.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

static constexpr std::string_view heads[] = {
    "min",     "max",      "exclusive", "require",  "allow",       "additional",
    "pattern", "unique",   "depend",    "unevalu",  "prefix",      "item",
    "contain", "propert",  "length",    "multiple", "divis",       "disallow",
    "extend",  "nullable", "forbid",    "prohibit", "anyof",       "oneof",
    "allof",   "noneof",   "const",     "format",   "optionalprop"};
static constexpr std::string_view foreign[] = {"elements", "values",      "ref",   "instanceof",
                                               "typeof",   "regexp",      "range", "select",
                                               "switch",   "deeprequired"};

static std::string lowered(std::string_view name) {
  std::string result(name);
  for (char &c : result)
    c = c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  return result;
}

/// Characters to insert, leave out, replace.
static size_t distance(std::string_view left, std::string_view right) {
  std::vector<size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < left.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < right.size(); ++j) {
      const size_t replaced = diagonal + (left[i] != right[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

bool mayBind(std::string_view name, std::span<const std::string_view> binding) {
  constexpr size_t longest = 40; // no keyword is near longer names
  if (name.size() > longest)
    return false;
  const std::string text = lowered(name);
  if (text.starts_with('$') || std::ranges::find(foreign, text) != std::end(foreign) ||
      std::ranges::any_of(heads, [&](std::string_view head) { return text.starts_with(head); }))
    return true;
  return std::ranges::any_of(binding, [&](std::string_view keyword) {
    const size_t most = keyword.size() < 4 ? 0 : keyword.size() < 6 ? 1 : 2;
    return distance(text, lowered(keyword)) <= most;
  });
}

} // namespace ingot::runtime::guided
