// SPDX-License-Identifier: Apache-2.0
// What readers of grammars share: places, refusals, characters, counts.
#pragma once

#include "runtime/guided/Characters.h"
#include "runtime/guided/grammars/RuleTree.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace ingot::runtime::guided {

/// "line 3, column 7" of a byte of `text`; both count from 1, columns in characters.
std::string placeIn(std::string_view text, size_t offset);

/// Reads from `at` on. After a refusal it stands at the end, `failure` says why, and whatever is
/// called does nothing more.
class GrammarReader {
public:
  static constexpr size_t longestText = size_t(1) << 20;
  static constexpr int deepestGroup = 200;
  static constexpr uint32_t largestCount = 1000000000;
  static constexpr int mostOperators = 100; ///< behind one item

  GrammarReader(std::string_view text, std::string_view language);

protected:
  bool ok() const { return failure.ok(); }
  /// INGOT-E6620 or `code`: `why`, at byte `place`. Gives false.
  bool refuse(size_t place, std::string_view why, std::string_view code = "INGOT-E6620");
  /// Refuses what stands at `at`; `wanted` says what could.
  bool refuseNext(std::string_view wanted);

  bool ended() const { return at >= text.size(); }
  bool ahead(std::string_view expected) const { return text.substr(at).starts_with(expected); }
  bool take(std::string_view expected);
  /// Spaces and tabs.
  void skipBlanks();
  /// A letter of ASCII, a digit, or an underscore.
  static bool isWord(char character);
  static bool isDigit(char character) { return character >= '0' && character <= '9'; }

  /// A number up to largestCount.
  bool readCount(uint32_t &count);
  /// Behind a brace: "m}", "m,}", "m,n}", and where `mayOmit` ",n}"; blanks may stand between.
  bool readBraces(size_t place, bool mayOmit, uint32_t &minimum, uint32_t &maximum);
  /// `digits` hexadecimal digits.
  bool readHexadecimal(size_t digits, char32_t &value);
  /// Behind "\x", "\u" or "\U": a character that is none of the surrogates, unless `anyValue`.
  bool readCode(size_t place, char letter, char32_t &value, bool anyValue = false);
  /// A character of the text, which is UTF-8.
  bool readCharacter(char32_t &value);
  /// One level of brackets more; false where they are too many.
  bool enter(size_t place);
  void leave() { --depth; }
  /// A name may be defined once.
  bool define(std::string_view name, size_t place, RuleTree::NodeId body, bool lexical = false);

  std::string_view text;
  std::string_view language;
  size_t at = 0;
  int depth = 0;
  RuleTree tree;
  Status failure;
};

/// The bytes of a character.
void appendUtf8(std::string &bytes, char32_t character);

} // namespace ingot::runtime::guided
