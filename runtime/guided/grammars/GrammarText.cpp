// SPDX-License-Identifier: Apache-2.0
// The first rule tells.
#include "runtime/guided/grammars/GrammarText.h"

namespace ingot::runtime::guided {

GrammarSyntax syntaxOf(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  auto skip = [&](size_t count) { text.remove_prefix(std::min(count, text.size())); };
  for (;;) {
    skip(text.find_first_not_of(blanks));
    if (!text.starts_with('#') && !text.starts_with("//"))
      break;
    skip(text.find('\n'));
  }
  skip(text.find_first_of(" \t\r\n:"));
  skip(text.find_first_not_of(blanks));
  return text.starts_with("::=") ? GrammarSyntax::Gbnf : GrammarSyntax::Lark;
}

} // namespace ingot::runtime::guided
