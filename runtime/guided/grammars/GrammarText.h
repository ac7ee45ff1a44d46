// SPDX-License-Identifier: Apache-2.0
// Which notation a grammar has.
#pragma once

#include <string_view>

namespace ingot::runtime::guided {

enum class GrammarSyntax { Gbnf, Lark };

/// Gbnf where the first thing that is no comment is a name with "::=" behind it; else Lark.
GrammarSyntax syntaxOf(std::string_view text);

} // namespace ingot::runtime::guided
