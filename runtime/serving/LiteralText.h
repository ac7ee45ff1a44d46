// SPDX-License-Identifier: Apache-2.0
// LiteralText: the parts of a prompt in which special tokens are text, whatever they spell.
#pragma once

#include "runtime/core/Span.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Refers to spans that are in order and apart from each other, and must outlive it.
class LiteralText {
public:
  LiteralText() = default;
  explicit LiteralText(std::span<const Span> spans) : spans(spans) {}

  /// Whether a byte of [begin, end) is literal.
  bool touches(size_t begin, size_t end) const;
  bool covers(size_t begin, size_t end) const;

private:
  std::span<const Span> spans;
};

/// Where a token stands in a text that was normalized, when only the raw text's literal parts are
/// known: the n-th place of the one is the n-th of the other.
class TokenPlaces {
public:
  /// `content` is looked for in the raw `text`, `pattern` in `normalized`. `literal` counts from
  /// `offset` bytes before `text`.
  TokenPlaces(std::string_view text, size_t offset, std::string_view content,
              std::string_view normalized, std::string_view pattern, const LiteralText &literal);

  /// Whether the token at `begin` of the normalized text is literal. Where normalizing made or
  /// removed places, all are, if one was.
  bool isLiteral(size_t begin) const;

private:
  std::vector<size_t> places;
  std::vector<bool> literals;
  bool anyLiteral = false;
};

} // namespace ingot::runtime
