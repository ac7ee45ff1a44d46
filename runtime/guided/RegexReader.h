// SPDX-License-Identifier: Apache-2.0
// The state of one reading of a regular expression.
#pragma once

#include "runtime/guided/RegexSyntax.h"

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

/// Reads once. After a refusal every function returns at once, and `failure` says why.
class RegexReader {
public:
  RegexReader(ExpressionArena &arena, std::string_view pattern, const RegexOptions &options)
      : arena(arena), pattern(pattern), options(options) {
    modes.ignoreCase = options.ignoreCase;
    modes.dotAll = options.dotAll;
    if (pattern.starts_with("(?i)")) {
      modes.ignoreCase = true;
      at = 4;
    }
  }

  Result<ExpressionId> read();

private:
  /// Where the ends of a match must lie.
  enum Where : unsigned { Free = 0, AtStart = 1, AtEnd = 2 };

  /// What a part matches anywhere, only from the start of the text, only to its end, and only from
  /// start to end: by Where.
  struct Anchored {
    std::array<ExpressionId, 4> of{};

    static Anchored free(ExpressionId id) { return {{id}}; }
    bool anchored() const { return of[1] || of[2] || of[3]; }
  };

  /// A part of an alternative: what is matched, or what has to stand ahead or behind.
  struct Term {
    enum class Look : uint8_t { None, Ahead, Behind };

    Anchored part;
    size_t place; ///< in the pattern
    Look look = Look::None;
    bool negated = false;
  };

  struct Modes {
    bool ignoreCase = false;
    bool dotAll = false;
  };

  Anchored refuse(size_t where, std::string_view why);
  Anchored disjunction();
  Anchored alternative();
  Anchored joined(const Anchored &first, const Anchored &second);
  Term term();
  Anchored group();
  bool groupHead(size_t start);
  bool modifiers();
  Anchored quantified(Anchored operand, size_t start);
  bool quantifierAhead() const;
  uint32_t count();

  // RegexLooks.cpp
  bool isLookAround(Term &term);
  Anchored withLooks(std::span<const Term> terms);
  Anchored aheadOf(const Term &look, const Anchored &rest);
  Anchored behind(const Anchored &before, const Term &look);
  ExpressionId toEnd(const Anchored &part, ExpressionId tail, bool fromStart);
  ExpressionId held(ExpressionId texts, const Term &look, ExpressionId looked);

  // RegexAtoms.cpp
  ExpressionId atom();
  ExpressionId character(char32_t value);
  ExpressionId oneOf(const CharacterSet &set);
  CharacterSet characterClass();
  /// One item of a class or an escape: a set, or a single character in `value`.
  bool classItem(CharacterSet &set, char32_t &value, bool &single);
  bool escape(CharacterSet &set, char32_t &value, bool &single, bool inClass);
  bool classEscape(char letter, CharacterSet &set);
  bool property(size_t start, bool negated, CharacterSet &set);
  bool unicodeEscape(size_t start, char32_t &value);
  bool hexadecimal(size_t digits, char32_t &value);
  CharacterSet cased(const CharacterSet &set) const {
    return modes.ignoreCase ? withOtherCases(set) : set;
  }

  bool take(char expected) {
    if (at >= pattern.size() || pattern[at] != expected)
      return false;
    ++at;
    return true;
  }

  ExpressionArena &arena;
  std::string_view pattern;
  RegexOptions options;
  Modes modes;
  size_t at = 0;
  int depth = 0;
  ExpressionId anyCharacter = ExpressionArena::nothing; ///< any number of them
  std::map<char32_t, ExpressionId> known;               ///< characters without modes
  Status failure;
};

} // namespace ingot::runtime::guided
