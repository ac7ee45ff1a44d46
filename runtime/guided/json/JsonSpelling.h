// SPDX-License-Identifier: Apache-2.0
// How known texts (names of members, constants) are spelled in an answer.
#pragma once

#include "runtime/guided/Characters.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// The shortest spelling: escapes only where JSON needs them.
std::string plainSpelling(std::string_view text, Spelling spelling);

/// `text` as answers write it: printable ASCII as itself; quotes, backslashes, controls and what is
/// beyond ASCII in every way that `spelling` has for them.
ExpressionId writtenText(ExpressionArena &arena, std::string_view text, Spelling spelling);

/// Any of `texts` as answers write them, as a tree of their common beginnings.
ExpressionId writtenTexts(ExpressionArena &arena, std::span<const std::string> texts,
                          Spelling spelling);

/// Any of `texts` in every spelling, as a tree of their common beginnings: what names that are none
/// of them must not be.
ExpressionId anySpelling(ExpressionArena &arena, std::span<const std::string> texts,
                         Spelling spelling);

/// The texts of `id`, an expression of what is spelled so, where there are at most `most` of them;
/// each once, whatever its spellings, sorted.
std::optional<std::vector<std::string>> fewTexts(ExpressionArena &arena, ExpressionId id,
                                                 size_t most, Spelling spelling);

} // namespace ingot::runtime::guided
