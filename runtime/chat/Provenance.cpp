// SPDX-License-Identifier: Apache-2.0
// Pieces in the order of their origin, so that a string's are found at once.
#include "runtime/chat/Provenance.h"

#include "runtime/serving/Unicode.h"

#include <algorithm>

namespace ingot::runtime {

Provenance::Provenance(const jinja::Rendered &rendered) {
  for (const jinja::Piece &piece : rendered.text.pieces())
    if (piece.origin.isKnown())
      pieces.push_back(piece);
  std::sort(pieces.begin(), pieces.end(), [](const jinja::Piece &left, const jinja::Piece &right) {
    return std::pair(left.origin.begin, left.span.begin) <
           std::pair(right.origin.begin, right.span.begin);
  });
  for (const jinja::InputString &string : rendered.strings)
    addresses.emplace(string.text, string.address);
}

std::vector<Placed> Provenance::placesOf(const std::string &given) const {
  std::vector<Placed> places;
  const auto found = addresses.find(&given);
  if (found == addresses.end())
    return places;
  const uint32_t base = found->second;
  auto piece = std::lower_bound(
      pieces.begin(), pieces.end(), base,
      [](const jinja::Piece &each, uint32_t address) { return each.origin.begin < address; });
  for (; piece != pieces.end() && piece->origin.begin < base + given.size(); ++piece)
    places.push_back({piece->span, {piece->origin.begin - base, piece->origin.end - base}});
  return places;
}

uint32_t Provenance::lastEndBefore(uint32_t place) const {
  uint32_t last = 0;
  for (const jinja::Piece &piece : pieces)
    if (piece.span.end <= place)
      last = std::max(last, piece.span.end);
  return last;
}

std::vector<Span> Provenance::missing(const std::string &given, size_t size) const {
  std::vector<Span> parts;
  size_t reached = 0;
  auto leave = [&](size_t begin, size_t end) {
    const auto part = std::string_view(given).substr(begin, end - begin);
    if (const size_t words = skipWhitespace(part); words < part.size())
      parts.push_back({uint32_t(begin + words), uint32_t(begin + trimWhitespace(part))});
  };
  for (const Placed &placed : placesOf(given)) {
    if (placed.prompt.begin >= size)
      continue;
    // Of a piece that goes on behind the end, what is before it.
    const bool isCut = placed.prompt.end > size;
    const size_t end = isCut ? placed.given.begin + (size - placed.prompt.begin) : placed.given.end;
    if (placed.given.begin > reached)
      leave(reached, placed.given.begin);
    reached = std::max<size_t>(reached, std::min<size_t>(end, placed.given.end));
  }
  leave(reached, given.size());
  return parts;
}

} // namespace ingot::runtime
