// SPDX-License-Identifier: Apache-2.0
// PTX text as tokens: words keep their dots and double colons, so an opcode is one word.
#include "runtime/simulator/Lexer.h"

#include <cstdlib>
#include <cstring>

namespace ingot::simulator {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool startsWord(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool inWord(char c) { return startsWord(c) || isDigit(c); }

} // namespace

void Lexer::skipBlank() {
  while (place < text.size()) {
    char c = text[place];
    if (c == '\n') {
      ++line;
      ++place;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++place;
    } else if (c == '/' && at(1, '/')) {
      while (place < text.size() && text[place] != '\n')
        ++place;
    } else if (c == '/' && at(1, '*')) {
      uint32_t begun = line;
      place += 2;
      while (place < text.size() && !(text[place] == '*' && at(1, '/')))
        line += text[place++] == '\n';
      if (place >= text.size())
        throw PtxError(begun, "a comment that does not end");
      place += 2;
    } else {
      return;
    }
  }
}

Token Lexer::number() {
  Token token;
  token.line = line;
  token.kind = Token::Kind::Integer;
  size_t begin = place;
  char second = place + 1 < text.size() ? text[place + 1] : '\0';
  bool zero = text[place] == '0';
  if (zero && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    size_t digits = second == 'f' || second == 'F' ? 8 : 16;
    token.kind = digits == 8 ? Token::Kind::Float32 : Token::Kind::Float64;
    place += 2;
    size_t first = place;
    while (place < text.size() && isHex(text[place]) && place - first < digits)
      token.value = token.value << 4 | strtoul(std::string(1, text[place++]).c_str(), nullptr, 16);
    if (place - first != digits)
      throw PtxError(line, "a floating-point constant needs " + std::to_string(digits) + " digits");
  } else if (zero && (second == 'x' || second == 'X')) {
    place += 2;
    while (place < text.size() && isHex(text[place]))
      token.value = token.value << 4 | strtoul(std::string(1, text[place++]).c_str(), nullptr, 16);
  } else {
    while (place < text.size() && (isDigit(text[place]) || text[place] == '.'))
      ++place;
    bool real = text.substr(begin, place - begin).find('.') != std::string_view::npos;
    if (place < text.size() && (text[place] == 'e' || text[place] == 'E')) {
      real = true;
      place += 1 + (at(1, '-') || at(1, '+'));
      while (place < text.size() && isDigit(text[place]))
        ++place;
    }
    std::string digits(text.substr(begin, place - begin));
    if (real) {
      token.kind = Token::Kind::Float64;
      double value = strtod(digits.c_str(), nullptr);
      std::memcpy(&token.value, &value, sizeof value);
    } else {
      token.value = strtoull(digits.c_str(), nullptr, zero && digits.size() > 1 ? 8 : 10);
    }
  }
  if (token.kind == Token::Kind::Integer && place < text.size() && text[place] == 'U')
    ++place;
  if (place < text.size() && inWord(text[place]) && text[place] != '.')
    throw PtxError(line, "a malformed number");
  token.text = text.substr(begin, place - begin);
  return token;
}

Token Lexer::next() {
  skipBlank();
  Token token;
  token.line = line;
  if (place >= text.size() || text[place] == '\0')
    return token;
  size_t begin = place;
  char c = text[place];
  if (isDigit(c))
    return number();
  if (startsWord(c)) {
    token.kind = Token::Kind::Word;
    while (place < text.size() && (inWord(text[place]) || (text[place] == ':' && at(1, ':'))))
      place += text[place] == ':' ? 2 : 1;
  } else if (c == '"') {
    token.kind = Token::Kind::String;
    ++place;
    while (place < text.size() && text[place] != '"' && text[place] != '\n')
      ++place;
    if (!at(0, '"'))
      throw PtxError(line, "a string that does not end");
    ++place;
  } else {
    token.kind = Token::Kind::Symbol;
    ++place;
    if (std::strchr("()[]{}<>,;:@!|+-=*&~", c) == nullptr)
      throw PtxError(line, "a character that PTX does not use");
  }
  token.text = text.substr(begin, place - begin);
  return token;
}

} // namespace ingot::simulator
