// SPDX-License-Identifier: Apache-2.0
// Text: UTF-8 that knows which of its bytes came from the input and which from the template.
#pragma once

#include "runtime/core/Span.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::jinja {

/// Bytes, and where they came from: `input()` lists the parts that a stranger wrote. Text that is
/// all the template's has no list at all, which is the common case. Offsets are bytes; no text
/// of a render reaches 4 GiB.
class Text {
public:
  static constexpr size_t toEnd = std::string::npos;

  Text() = default;
  Text(std::string bytes, bool isInput) : bytes(std::move(bytes)) {
    if (isInput && !this->bytes.empty())
      spans.push_back({0, uint32_t(this->bytes.size())});
  }

  std::string_view view() const { return bytes; }
  size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }

  /// In order, apart from each other, not empty.
  const std::vector<Span> &input() const { return spans; }
  bool hasInput() const { return !spans.empty(); }

  void append(std::string_view more, bool isInput);
  void append(std::string_view more) { append(more, false); }
  void append(const Text &more) { append(more, 0, more.size()); }
  /// The bytes [begin, end) of `more`, which is another text.
  void append(const Text &more, size_t begin, size_t end);

  Text slice(size_t begin, size_t end = toEnd) const;
  bool isInput(size_t offset) const;

  /// Memory that this text holds besides itself.
  size_t footprint() const { return bytes.size() + spans.size() * sizeof(Span); }

  std::string takeBytes() { return std::move(bytes); }
  std::vector<Span> takeInput() { return std::move(spans); }

private:
  /// The first span that ends behind `offset`.
  std::vector<Span>::const_iterator spanAt(size_t offset) const;
  void addSpan(size_t begin, size_t end);

  std::string bytes;
  std::vector<Span> spans;
};

} // namespace ingot::runtime::jinja
