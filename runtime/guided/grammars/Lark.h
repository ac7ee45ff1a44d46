// SPDX-License-Identifier: Apache-2.0
// Grammars in the form of Lark, the Python library.
#pragma once

#include "runtime/guided/Grammar.h"

#include <memory>
#include <string_view>

namespace ingot::runtime::guided {

/// The texts of the rule `start`. Read: rules (lower case) and terminals (upper case), literals and
/// ranges of characters, expressions between slashes with the flags i, s and u, groups, `[..]`,
/// the operators ? * + ~ and counts in braces, `%ignore`, `%import common..`, and `%llguidance {}`.
/// Priorities, aliases and the prefixes ? and ! shape trees alone and say nothing here. A text may
/// be split into terminals in any way, not only the longest; what is ignored may stand between two
/// terminals of rules, before the first and behind the last. Expressions are of ECMA-262, but the
/// dot is all but the line feed; what looks around a terminal or is lazy is refused, as it means
/// more than the terminal.
///
/// Errors: INGOT-E6620 with line and column for what cannot be read or is not served, INGOT-E6602
/// for an expression, INGOT-E6621 for what is not defined, or twice, or is a terminal that needs
/// itself, INGOT-E6622 for what derives no text, INGOT-E6623, INGOT-E6601 and INGOT-E6603 for what
/// is too large.
Result<std::shared_ptr<const Grammar>> larkGrammar(std::string_view text);

/// The same as a part of another grammar.
Result<Symbol> addLark(GrammarBuilder &builder, std::string_view text);

} // namespace ingot::runtime::guided
