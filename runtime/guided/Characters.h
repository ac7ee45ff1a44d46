// SPDX-License-Identifier: Apache-2.0
// Sets of Unicode characters, and the bytes by which text spells them.
#pragma once

#include "runtime/guided/Expression.h"

#include <span>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// How a text of characters stands in the answer.
enum class Spelling {
  /// As UTF-8.
  Utf8,
  /// As between the quotes of a JSON string: raw UTF-8 where JSON allows it (not below U+0020, not
  /// the quote and the backslash), the short escapes \" \\ \/ \b \f \n \r \t, and \uXXXX with
  /// digits of either case, a surrogate pair above U+FFFF. Unpaired surrogates are no text.
  JsonString,
  /// As between double quotes in Python: as JSON has it, without \/ and without surrogate pairs.
  PythonString
};

/// Code points first to last, both included.
struct CharacterRange {
  char32_t first;
  char32_t last;
};

/// A set of Unicode scalar values (surrogates are never in it): sorted, disjoint ranges.
class CharacterSet {
public:
  CharacterSet() = default;
  /// In any order, overlapping or not.
  CharacterSet(std::vector<CharacterRange> parts);

  static CharacterSet all() { return CharacterSet({{0, 0x10FFFF}}); }

  void add(char32_t first, char32_t last);
  void add(const CharacterSet &other);
  CharacterSet complement() const;
  bool contains(char32_t character) const;
  bool none() const { return ranges.empty(); }
  std::span<const CharacterRange> parts() const { return ranges; }

private:
  void normalise();

  std::vector<CharacterRange> ranges;
};

/// One character out of `set`, in every way that `spelling` has for it.
ExpressionId spelled(ExpressionArena &arena, const CharacterSet &set, Spelling spelling);

/// Any number of any characters.
ExpressionId anyText(ExpressionArena &arena, Spelling spelling);

/// Exactly the characters of `text`, valid UTF-8, each in every way that `spelling` has for it.
ExpressionId spelledText(ExpressionArena &arena, std::string_view text, Spelling spelling);

/// The character at `offset` of `text`, which moves behind it; false, and nothing moves, at the end
/// and where no valid UTF-8 stands.
bool decodeCharacter(std::string_view text, size_t &offset, char32_t &character);

/// The characters of a general category of Unicode ("L", "Lu", "Nd", ... or its long name); false
/// where there is none of that name.
bool generalCategory(std::string_view name, CharacterSet &set);

/// `set` with the characters that differ from one of it by their case alone (simple mappings).
CharacterSet withOtherCases(const CharacterSet &set);

} // namespace ingot::runtime::guided
