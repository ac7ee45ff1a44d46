// SPDX-License-Identifier: Apache-2.0
// Strip: text without white space, or other characters, at its ends.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Heap.h"

#include <optional>
#include <string_view>

namespace ingot::runtime::jinja {

/// What is left of `text` without `characters`, or else white space, at its start and its end.
inline Span stripped(Heap &heap, std::string_view text, std::optional<std::string_view> characters,
                     bool atStart = true, bool atEnd = true) {
  auto goes = [&](size_t at) {
    if (!characters)
      return isSpace(characterAt(text, at));
    heap.step(1 + characters->size() / 16);
    const std::string_view character = text.substr(at, characterLength(text, at));
    return characters->find(character) != characters->npos;
  };
  size_t begin = 0, end = text.size();
  while (atStart && begin < end && goes(begin))
    begin += characterLength(text, begin);
  while (atEnd && end > begin && goes(previousCharacter(text, end)))
    end = previousCharacter(text, end);
  return {uint32_t(begin), uint32_t(end)};
}

} // namespace ingot::runtime::jinja
