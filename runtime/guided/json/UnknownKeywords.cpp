// SPDX-License-Identifier: Apache-2.0
// Tells misspellings and foreign keywords from annotations.
#include "runtime/guided/json/UnknownKeywords.h"

#include "runtime/core/NearestName.h"

#include <algorithm>
#include <string>

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
    return lettersApart(text, lowered(keyword)) <= most;
  });
}

} // namespace ingot::runtime::guided
