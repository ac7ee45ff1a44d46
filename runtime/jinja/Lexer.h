// SPDX-License-Identifier: Apache-2.0
// Lexer: a template's source as tokens, white space trimmed as trim_blocks and lstrip_blocks do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::jinja {

enum class TokenKind : uint8_t {
  Data,          // text between tags
  VariableBegin, // {{
  VariableEnd,
  BlockBegin, // {%
  BlockEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End,
};

struct Token {
  TokenKind kind;
  uint32_t offset;  ///< in the source
  std::string text; ///< Name, Operator: as written; Data, String: what it stands for
  int64_t integer = 0;
  double number = 0;
};

/// The source with its lines ended by "\n" alone, and without the last line's end.
std::string normalizeLines(std::string_view source);

/// Tokens of `source`, which normalizeLines made, the last of kind End. Throws Failure; `offset`
/// is set to where.
std::vector<Token> tokenize(std::string_view source, uint32_t &offset);

} // namespace ingot::runtime::jinja
