// SPDX-License-Identifier: Apache-2.0
// Text: UTF-8 that knows which of its bytes came from the input and which from the template.
#include "runtime/jinja/Text.h"

#include <algorithm>

namespace ingot::runtime::jinja {

/// The part of a piece that stands in [begin, end) of its text.
static Piece part(const Piece &piece, size_t begin, size_t end) {
  Piece cut = piece;
  cut.span.begin = std::max(piece.span.begin, uint32_t(begin));
  cut.span.end = std::min(piece.span.end, uint32_t(std::min<size_t>(end, UINT32_MAX)));
  if (piece.isExact()) {
    cut.origin.begin += cut.span.begin - piece.span.begin;
    cut.origin.end -= piece.span.end - cut.span.end;
  }
  return cut;
}

Text Text::ofInput(std::string bytes, uint32_t address) {
  const auto size = uint32_t(bytes.size());
  Text text(std::move(bytes));
  text.addPiece({{0, size}, {address, address + size}});
  return text;
}

void Text::addPiece(const Piece &piece) {
  if (piece.span.begin == piece.span.end)
    return;
  if (!input.empty()) {
    Piece &last = input.back();
    const bool follows = last.isExact() && piece.isExact() && piece.origin.begin == last.origin.end;
    const bool unknown = !last.origin.isKnown() && !piece.origin.isKnown();
    if (last.span.end == piece.span.begin && (follows || unknown)) {
      last.span.end = piece.span.end;
      last.origin.end = piece.origin.end;
      return;
    }
  }
  input.push_back(piece);
}

void Text::append(std::string_view more, Origin origin) {
  const auto begin = uint32_t(bytes.size());
  bytes += more;
  if (origin.isInput())
    addPiece({{begin, uint32_t(bytes.size())}, origin});
}

std::vector<Piece>::const_iterator Text::pieceAt(size_t offset) const {
  return std::upper_bound(input.begin(), input.end(), offset,
                          [](size_t place, const Piece &piece) { return place < piece.span.end; });
}

void Text::append(const Text &more, size_t begin, size_t end) {
  const size_t start = bytes.size();
  bytes.append(more.bytes, begin, end - begin);
  for (auto piece = more.pieceAt(begin); piece != more.input.end() && piece->span.begin < end;
       ++piece) {
    Piece moved = part(*piece, begin, end);
    moved.span.begin = uint32_t(start + moved.span.begin - begin);
    moved.span.end = uint32_t(start + moved.span.end - begin);
    addPiece(moved);
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text part;
  part.append(*this, begin, std::min(end, bytes.size()));
  return part;
}

Origin Text::origin(size_t begin, size_t end) const {
  const auto piece = pieceAt(begin);
  if (piece == input.end() || piece->span.begin > begin)
    return Origin::ofTemplate();
  return part(*piece, begin, end).origin;
}

} // namespace ingot::runtime::jinja
