// SPDX-License-Identifier: Apache-2.0
// Lark's library of terminals, in expressions of their own.
#include "runtime/guided/grammars/LarkReader.h"

namespace ingot::runtime::guided {

std::string_view commonTerminal(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> terminals[] = {
      {"DIGIT", "[0-9]"},
      {"HEXDIGIT", "[0-9A-Fa-f]"},
      {"INT", "[0-9]+"},
      {"SIGNED_INT", "[+\\-]?[0-9]+"},
      {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
      {"FLOAT", "[0-9]+[eE][+\\-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+\\-]?[0-9]+)?"},
      {"SIGNED_FLOAT",
       "[+\\-]?([0-9]+[eE][+\\-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+\\-]?[0-9]+)?)"},
      {"NUMBER", "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+\\-]?[0-9]+)?"},
      {"SIGNED_NUMBER", "[+\\-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+\\-]?[0-9]+)?"},
      {"ESCAPED_STRING", "\"([^\"\\\\\\n]|\\\\[^\\n])*\""},
      {"LCASE_LETTER", "[a-z]"},
      {"UCASE_LETTER", "[A-Z]"},
      {"LETTER", "[A-Za-z]"},
      {"WORD", "[A-Za-z]+"},
      {"CNAME", "[A-Za-z_][A-Za-z_0-9]*"},
      {"WS_INLINE", "[ \\t]+"},
      {"WS", "[ \\t\\f\\r\\n]+"},
      {"CR", "\\r"},
      {"LF", "\\n"},
      {"NEWLINE", "(\\r?\\n)+"},
      {"SH_COMMENT", "#[^\\n]*"},
      {"CPP_COMMENT", "//[^\\n]*"},
      {"C_COMMENT", "/\\*([^*]|\\*+[^*/])*\\*+/"},
      {"SQL_COMMENT", "--[^\\n]*"}};
  for (const auto &[known, expression] : terminals)
    if (known == name)
      return expression;
  return {};
}

} // namespace ingot::runtime::guided
