// SPDX-License-Identifier: Apache-2.0
// Reads the regular expressions of ECMA-262 into expressions over bytes.
#pragma once

#include "runtime/guided/Characters.h"
#include "runtime/guided/Expression.h"

#include <string_view>

namespace ingot::runtime::guided {

/// What a text must do to match.
struct RegexOptions {
  /// How the characters of the text are spelled in the answer.
  Spelling spelling = Spelling::Utf8;
  /// The expression is found somewhere in the text (`pattern` of JSON Schema), not the whole text.
  bool search = false;
  bool ignoreCase = false;
  /// The dot is every character.
  bool dotAll = false;
  /// Else it is every character but the line feed, as in Python.
  bool pythonDot = false;
};

/// The texts that `pattern`, valid UTF-8, matches. Read as ECMA-262 with the flags "u" and, of what
/// "u" refuses, the identity escapes that people write (`\-`, `\_`, `\"`): characters are code
/// points, `\d` and `\w` ASCII, `\s` its Unicode spaces, the dot everything but line ends, `\p{..}`
/// general categories; `^` and `$` are the ends of the text. Lazy quantifiers mean the same texts;
/// groups may have names; `(?i:...)` and a leading `(?i)` are read too. Look-around is read outside
/// of groups.
///
/// Errors: INGOT-E6602 with "byte N" of the pattern for what is no expression and for what is not
/// regular or not served (look-around in groups, back-references, `\b`, an anchor in a repeated
/// group);
/// INGOT-E6601 for what is too large. What matches nothing is `ExpressionArena::nothing` or found
/// by isEmpty().
Result<ExpressionId> readRegex(ExpressionArena &arena, std::string_view pattern,
                               const RegexOptions &options = {});

} // namespace ingot::runtime::guided
