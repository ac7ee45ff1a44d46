// SPDX-License-Identifier: Apache-2.0
// Finds added tokens (special tokens and the like) in a text: leftmost, then longest.
#pragma once

#include "runtime/core/Status.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct AddedToken {
  std::string pattern; ///< what to look for, not empty
  uint32_t id;
  bool singleWord;
  bool leftStrip;
  bool rightStrip;
  bool special;
};

/// A part of a text: a token, or (id < 0) text between tokens.
struct Segment {
  size_t begin;
  size_t end;
  int64_t id;
};

class AddedTokens {
public:
  /// Patterns longer than this are refused by the loader: the search costs up to text times
  /// longest pattern.
  static constexpr size_t maxPatternBytes = 1024;

  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  /// Cuts `text` into tokens and the text between them; empty text parts are left out. Special
  /// tokens are taken for text unless `parseSpecial`.
  std::vector<Segment> find(std::string_view text, bool parseSpecial) const;

  /// What becomes of a special token that was found: it counts, or its text is skipped, or only
  /// the first character of that, as another token may begin inside of it.
  enum class Special : uint8_t { Token, Text, Unsure };
  using Decide = std::function<Special(const AddedToken &token, size_t begin)>;

  /// The same, where `decide` is asked about every special token.
  std::vector<Segment> find(std::string_view text, const Decide &decide) const;

private:
  const AddedToken *longestAt(std::string_view text) const;

  std::vector<AddedToken> sorted;        // by pattern
  std::array<uint32_t, 257> firstByte{}; // sorted[firstByte[b] .. firstByte[b + 1]) start with b
};

} // namespace ingot::runtime
