// SPDX-License-Identifier: Apache-2.0
// Grammars in llama.cpp's form, GBNF.
#pragma once

#include "runtime/guided/Grammar.h"
#include "runtime/guided/SpecialTokens.h"

#include <memory>
#include <string_view>

namespace ingot::runtime::guided {

/// The texts of the rule `root`. Read as llama.cpp's guide says, any recursion included. Beyond it
/// a rule goes on in the next line until a name with "::=" begins one. Tokens in angle brackets are
/// those of `tokens`: special ones have their bytes, others are their text. "!" is for special ones
/// with "*" or "+" behind, as else it would count tokens, which bytes do not tell apart.
///
/// Errors: INGOT-E6620 with line and column for what cannot be read, INGOT-E6621 for a rule that is
/// not defined, or twice, INGOT-E6622 for one that derives no text, INGOT-E6623, INGOT-E6601 and
/// INGOT-E6603 for what is too large.
Result<std::shared_ptr<const Grammar>> gbnfGrammar(std::string_view text,
                                                   const SpecialNames &tokens = {});

/// The same as a part of another grammar.
Result<Symbol> addGbnf(GrammarBuilder &builder, std::string_view text,
                       const SpecialNames &tokens = {});

} // namespace ingot::runtime::guided
