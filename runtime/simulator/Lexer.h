// SPDX-License-Identifier: Apache-2.0
// PTX text as tokens.
#pragma once

#include "runtime/simulator/Ptx.h"

namespace ingot::simulator {

struct Token {
  enum class Kind : uint8_t { Word, Integer, Float32, Float64, String, Symbol, End };
  Kind kind = Kind::End;
  uint32_t line = 1;
  std::string_view text;
  uint64_t value = 0; // integers, and the bits of floating-point constants
};

/// Splits a text into tokens, one at a time. The text must outlive the tokens.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  /// The next token; of kind End for ever at the end. Throws PtxError.
  Token next();

private:
  void skipBlank();
  Token number();
  bool at(size_t offset, char wanted) const {
    return place + offset < text.size() && text[place + offset] == wanted;
  }

  std::string_view text;
  size_t place = 0;
  uint32_t line = 1;
};

} // namespace ingot::simulator
