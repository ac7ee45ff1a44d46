// SPDX-License-Identifier: Apache-2.0
// Search for text in text, in time proportional to both together, whatever they are: the search of
// std::string takes the product of their lengths where one was made for that.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace ingot::runtime::jinja {

/// The first place of `what` at or behind `from`; npos where there is none.
inline size_t findFirst(std::string_view text, std::string_view what, size_t from = 0) {
  if (from > text.size())
    return std::string_view::npos;
  if (what.empty())
    return from;
  const void *found = ::memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return found ? size_t(static_cast<const char *>(found) - text.data()) : std::string_view::npos;
}

/// The last place of `what`.
inline size_t findLast(std::string_view text, std::string_view what) {
  const std::string textBackwards(text.rbegin(), text.rend());
  const std::string whatBackwards(what.rbegin(), what.rend());
  const size_t found = findFirst(textBackwards, whatBackwards);
  return found == std::string_view::npos ? found : text.size() - found - what.size();
}

} // namespace ingot::runtime::jinja
