// SPDX-License-Identifier: Apache-2.0
// Text: UTF-8 that knows which of its bytes came from the input and which from the template.
#pragma once

#include "runtime/core/Span.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::jinja {

/// Where bytes came from: the template, or the input, whose strings have addresses, as if they
/// stood one after another. What is neither one string's nor a part of it, as the brackets around
/// a printed list, is the input's `somewhere`.
struct Origin {
  uint32_t begin = 0, end = 0; ///< addresses of the input; those of the template are 0

  static constexpr Origin ofTemplate() { return {}; }
  static constexpr Origin somewhere() { return {UINT32_MAX, UINT32_MAX}; }

  bool isInput() const { return end != 0; }
  bool isKnown() const { return begin < end; }
};

/// Bytes of a text that came from one place of the input. Where both have one size, byte for byte;
/// otherwise all of the one became all of the other, as `"` becomes `\"`.
struct Piece {
  Span span; ///< of the text
  Origin origin;

  bool isExact() const { return span.end - span.begin == origin.end - origin.begin; }
};

/// Bytes, and where they came from: `pieces()` lists the parts that a stranger wrote. Text that is
/// all the template's has no list at all, which is the common case. Offsets are bytes; no text
/// of a render reaches 4 GiB, nor does all of its input.
class Text {
public:
  static constexpr size_t toEnd = std::string::npos;

  Text() = default;
  explicit Text(std::string bytes) : bytes(std::move(bytes)) {}
  /// A string of the input whose first byte has that address.
  static Text ofInput(std::string bytes, uint32_t address);

  std::string_view view() const { return bytes; }
  size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }

  /// In order, apart from each other, not empty.
  const std::vector<Piece> &pieces() const { return input; }

  void append(std::string_view more, Origin origin = Origin::ofTemplate());
  void append(const Text &more) { append(more, 0, more.size()); }
  /// The bytes [begin, end) of `more`, which is another text.
  void append(const Text &more, size_t begin, size_t end);

  Text slice(size_t begin, size_t end = toEnd) const;
  /// Where the bytes [begin, end), of one character say, came from.
  Origin origin(size_t begin, size_t end) const;

  /// Memory that this text holds besides itself.
  size_t footprint() const { return bytes.size() + input.size() * sizeof(Piece); }

  std::string takeBytes() { return std::move(bytes); }

private:
  /// The first piece that ends behind `offset`.
  std::vector<Piece>::const_iterator pieceAt(size_t offset) const;
  void addPiece(const Piece &piece);

  std::string bytes;
  std::vector<Piece> input;
};

} // namespace ingot::runtime::jinja
