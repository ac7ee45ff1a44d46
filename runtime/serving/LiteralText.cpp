// SPDX-License-Identifier: Apache-2.0
// LiteralText: the parts of a prompt in which special tokens are text, whatever they spell.
#include "runtime/serving/LiteralText.h"

#include <algorithm>

namespace ingot::runtime {

bool LiteralText::touches(size_t begin, size_t end) const {
  const auto span =
      std::upper_bound(spans.begin(), spans.end(), begin,
                       [](size_t place, const Span &part) { return place < part.end; });
  return span != spans.end() && span->begin < end;
}

bool LiteralText::covers(size_t begin, size_t end) const {
  const auto span =
      std::upper_bound(spans.begin(), spans.end(), begin,
                       [](size_t place, const Span &part) { return place < part.end; });
  return span != spans.end() && span->begin <= begin && end <= span->end;
}

TokenPlaces::TokenPlaces(std::string_view text, size_t offset, std::string_view content,
                         std::string_view normalized, std::string_view pattern,
                         const LiteralText &literal) {
  for (size_t at = text.find(content); at != text.npos;
       at = text.find(content, at + content.size()))
    literals.push_back(literal.touches(offset + at, offset + at + content.size()));
  for (size_t at = normalized.find(pattern); at != normalized.npos;
       at = normalized.find(pattern, at + pattern.size()))
    places.push_back(at);
  anyLiteral = std::find(literals.begin(), literals.end(), true) != literals.end();
}

bool TokenPlaces::isLiteral(size_t begin) const {
  const auto place = std::lower_bound(places.begin(), places.end(), begin);
  if (places.size() != literals.size() || place == places.end() || *place != begin)
    return anyLiteral;
  return literals[size_t(place - places.begin())];
}

} // namespace ingot::runtime
