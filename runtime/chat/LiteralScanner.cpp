// SPDX-License-Identifier: Apache-2.0
// A pushdown automaton: one state, and the brackets that are open.
#include "runtime/chat/LiteralScanner.h"

#include <cmath>
#include <cstdlib>
#include <string_view>

namespace ingot::runtime {

namespace {

constexpr size_t deepest = 128;      // of containers in each other
constexpr size_t longestToken = 512; // bytes of a number or a word
constexpr std::string_view gemmaQuote = "<|\"|>";

bool isDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool isLetter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

int hexValue(char byte) {
  if (isDigit(byte))
    return byte - '0';
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void appendEscaped(char byte, std::string &out) {
  static constexpr char digits[] = "0123456789abcdef";
  switch (byte) {
  case '"':
    out += "\\\"";
    return;
  case '\\':
    out += "\\\\";
    return;
  case '\n':
    out += "\\n";
    return;
  case '\t':
    out += "\\t";
    return;
  case '\r':
    out += "\\r";
    return;
  default:
    if (static_cast<unsigned char>(byte) >= 0x20) {
      out += byte;
      return;
    }
    out += "\\u00";
    out += digits[byte >> 4 & 15];
    out += digits[byte & 15];
  }
}

/// False for what is not a character.
bool appendCharacter(uint32_t code, std::string &out) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return false;
  if (code < 0x80) {
    appendEscaped(static_cast<char>(code), out);
    return true;
  }
  if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      out += static_cast<char>(0xE0 | code >> 12);
    } else {
      out += static_cast<char>(0xF0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 63));
    }
    out += static_cast<char>(0x80 | (code >> 6 & 63));
  }
  out += static_cast<char>(0x80 | (code & 63));
  return true;
}

size_t countDigits(std::string_view text, size_t from) {
  size_t end = from;
  while (end < text.size() && isDigit(text[end]))
    ++end;
  return end - from;
}

/// The type of a number of JSON, or null where it is none, or one that a double cannot hold, which
/// some readers refuse.
JsonType numberType(const std::string &number) {
  const std::string_view text = number;
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t whole = countDigits(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0'))
    return JsonNull;
  at += whole;
  JsonType type = JsonInteger;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = countDigits(text, at + 1);
    if (fraction == 0)
      return JsonNull;
    at += 1 + fraction;
    type = JsonNumber;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-'))
      ++at;
    const size_t exponent = countDigits(text, at);
    if (exponent == 0)
      return JsonNull;
    at += exponent;
    type = JsonNumber;
  }
  if (at != text.size() || std::isinf(std::strtod(number.c_str(), nullptr)))
    return JsonNull;
  return type;
}

/// A number of Python in the form of JSON's: `+1`, `1_000`, `1.` and `.5` are written otherwise.
std::string fromPython(std::string_view text) {
  std::string number;
  for (size_t i = text.starts_with('+') ? 1 : 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && isDigit(text[i - 1]) && isDigit(text[i + 1]);
    if (text[i] == '_' && between)
      continue;
    if (text[i] == '.' && (number.empty() || number == "-"))
      number += '0';
    number += text[i];
    if (text[i] == '.' && (i + 1 == text.size() || !isDigit(text[i + 1])))
      number += '0';
  }
  return number;
}

} // namespace

void appendEscaped(std::string_view text, std::string &out) {
  for (const char byte : text)
    appendEscaped(byte, out);
}

LiteralScanner::Result LiteralScanner::feed(char byte, std::string &out) {
  switch (state) {
  case State::String:
    return notation == Notation::Gemma ? inGemmaString(byte, out) : inString(byte, out);
  case State::Escape:
    return isJson() ? afterJsonBackslash(byte, out) : afterBackslash(byte, out);
  case State::Code:
    return inCode(byte, out);
  case State::Surrogate:
    return inSurrogate(byte, out);
  case State::Octal:
    return inOctal(byte, out);
  case State::OpeningQuote:
    if (byte != gemmaQuote[static_cast<size_t>(matched)])
      return Result::Fault;
    if (++matched == static_cast<int>(gemmaQuote.size())) {
      matched = 0;
      out += '"';
      state = State::String;
    }
    return Result::More;
  case State::BareKey:
    return inBareKey(byte, out);
  case State::Token: {
    if (isTokenByte(byte)) {
      if (token.size() == longestToken)
        return Result::Fault;
      token += byte;
      if (isJson())
        out += byte;
      return Result::More;
    }
    const Result ended = endToken(out);
    if (ended == Result::Done)
      return Result::DoneBefore;
    return ended == Result::Fault ? ended : structure(byte, out);
  }
  default:
    return structure(byte, out);
  }
}

LiteralScanner::Result LiteralScanner::finish(std::string &out) {
  if (state != State::Token || !containers.empty())
    return Result::Fault;
  return endToken(out);
}

LiteralScanner::Result LiteralScanner::structure(char byte, std::string &out) {
  if (isSpace(byte)) {
    if (isJson() && !containers.empty())
      out += byte;
    return Result::More;
  }
  const bool isEnd = byte == '}' || byte == ']' || byte == ')';
  switch (state) {
  case State::ValueOrEnd:
    return isEnd ? close(byte, out) : beginValue(byte, out);
  case State::Value:
    return beginValue(byte, out);
  case State::KeyOrEnd:
    return isEnd ? close(byte, out) : beginKey(byte, out);
  case State::Key:
    return beginKey(byte, out);
  case State::Colon:
    if (byte != (containers.back() == 'c' ? '=' : ':'))
      return Result::Fault;
    out += isJson() ? ":" : ": ";
    state = State::Value;
    return Result::More;
  default:
    break;
  }
  if (isEnd)
    return close(byte, out);
  if (byte != ',')
    return Result::Fault;
  const bool hasKeys = containers.back() == '{' || containers.back() == 'c';
  if (isJson()) {
    out += ',';
    state = hasKeys ? State::Key : State::Value;
  } else {
    commaPending = true; // a comma may be the last thing in a container
    state = hasKeys ? State::KeyOrEnd : State::ValueOrEnd;
  }
  return Result::More;
}

void LiteralScanner::separate(std::string &out) {
  if (commaPending)
    out += ", ";
  commaPending = false;
}

void LiteralScanner::begins(JsonType type) {
  if (containers.empty())
    outer = type;
}

LiteralScanner::Result LiteralScanner::beginValue(char byte, std::string &out) {
  const bool isCall = notation == Notation::PythonCall && containers.empty();
  if (isCall && byte != '(')
    return Result::Fault;
  const bool isTuple = byte == '(' && isPython();
  if (byte == '{' || byte == '[' || isTuple) {
    if (containers.size() == deepest)
      return Result::Fault;
    separate(out);
    const bool hasKeys = byte == '{' || isCall;
    begins(hasKeys ? JsonObject : JsonArray);
    containers += isCall ? 'c' : byte;
    out += hasKeys ? '{' : '[';
    state = hasKeys ? State::KeyOrEnd : State::ValueOrEnd;
    return Result::More;
  }
  token.clear();
  if (isTokenByte(byte)) {
    separate(out);
    token = byte;
    if (isJson())
      out += byte;
    state = State::Token;
    return Result::More;
  }
  const Result opened = beginString(byte, false, out);
  if (opened == Result::More)
    begins(JsonString);
  return opened;
}

LiteralScanner::Result LiteralScanner::beginString(char byte, bool isKey, std::string &out) {
  if (notation == Notation::Gemma ? byte != gemmaQuote[0]
                                  : byte != '"' && (byte != '\'' || isJson()))
    return Result::Fault;
  separate(out);
  stringIsKey = isKey;
  if (notation == Notation::Gemma) {
    matched = 1;
    state = State::OpeningQuote;
    return Result::More;
  }
  out += '"';
  quote = byte;
  state = State::String;
  return Result::More;
}

LiteralScanner::Result LiteralScanner::beginKey(char byte, std::string &out) {
  const bool isBare = containers.back() == 'c' ? isLetter(byte)
                                               : notation == Notation::Gemma && byte != '<' &&
                                                     byte != ':' && byte != ',';
  if (!isBare)
    return containers.back() == 'c' ? Result::Fault : beginString(byte, true, out);
  separate(out);
  out += '"';
  state = State::BareKey;
  return inBareKey(byte, out);
}

LiteralScanner::Result LiteralScanner::inBareKey(char byte, std::string &out) {
  const bool isName = isLetter(byte) || isDigit(byte);
  if (containers.back() == 'c' ? isName : byte != ':') {
    if (!isName && std::string_view("{}[](),<>\n\"").find(byte) != std::string_view::npos)
      return Result::Fault;
    appendEscaped(byte, out);
    return Result::More;
  }
  out += '"';
  state = State::Colon;
  return structure(byte, out);
}

LiteralScanner::Result LiteralScanner::close(char byte, std::string &out) {
  const char opened = containers.back();
  const char expected = opened == '{' ? '}' : opened == '[' ? ']' : ')';
  if (byte != expected)
    return Result::Fault;
  commaPending = false;
  containers.pop_back();
  out += opened == '{' || opened == 'c' ? '}' : ']';
  return valueEnded();
}

LiteralScanner::Result LiteralScanner::valueEnded() {
  if (containers.empty())
    return Result::Done;
  state = State::CommaOrEnd;
  return Result::More;
}

bool LiteralScanner::isTokenByte(char byte) const {
  if (!isJson())
    return isLetter(byte) || isDigit(byte) || byte == '+' || byte == '-' || byte == '.';
  // What passes at once has to be the beginning of a literal.
  const size_t length = token.size();
  for (const std::string_view word : {"true", "false", "null"})
    if (word.starts_with(token) && length < word.size() && word[length] == byte)
      return true;
  if (token.empty())
    return isDigit(byte) || byte == '-';
  return !isLetter(token[0]) &&
         (isDigit(byte) || std::string_view("+-.eE").find(byte) != std::string_view::npos);
}

LiteralScanner::Result LiteralScanner::endToken(std::string &out) {
  struct Word {
    std::string_view name, json;
    JsonType type;
  };
  static constexpr Word words[] = {
      {"true", "true", JsonBoolean}, {"false", "false", JsonBoolean}, {"null", "null", JsonNull},
      {"True", "true", JsonBoolean}, {"False", "false", JsonBoolean}, {"None", "null", JsonNull},
  };
  for (const Word &word : words) {
    if (token != word.name || (isJson() && word.name != word.json))
      continue;
    if (!isJson())
      out += word.json;
    begins(word.type);
    return valueEnded();
  }
  const std::string number = isJson() ? token : fromPython(token);
  const JsonType type = numberType(number);
  if (type == JsonNull)
    return Result::Fault;
  if (!isJson())
    out += number;
  begins(type);
  return valueEnded();
}

LiteralScanner::Result LiteralScanner::stringEnded(std::string &out) {
  out += '"';
  if (!stringIsKey)
    return valueEnded();
  state = State::Colon;
  return Result::More;
}

LiteralScanner::Result LiteralScanner::inString(char byte, std::string &out) {
  if (byte == quote)
    return stringEnded(out);
  if (byte != '\\') {
    appendEscaped(byte, out);
    return Result::More;
  }
  state = State::Escape;
  if (isJson())
    out += byte;
  return Result::More;
}

LiteralScanner::Result LiteralScanner::inGemmaString(char byte, std::string &out) {
  if (byte == gemmaQuote[static_cast<size_t>(matched)]) {
    if (++matched < static_cast<int>(gemmaQuote.size()))
      return Result::More;
    matched = 0;
    return stringEnded(out);
  }
  appendEscaped(gemmaQuote.substr(0, static_cast<size_t>(matched)), out);
  matched = byte == gemmaQuote[0] ? 1 : 0;
  if (matched == 0)
    appendEscaped(byte, out);
  return Result::More;
}

LiteralScanner::Result LiteralScanner::afterJsonBackslash(char byte, std::string &out) {
  if (afterHigh ? byte != 'u'
                : std::string_view("\"\\/bfnrtu").find(byte) == std::string_view::npos)
    return Result::Fault;
  out += byte;
  state = byte == 'u' ? State::Code : State::String;
  code = 0;
  digitsLeft = 4;
  return Result::More;
}

LiteralScanner::Result LiteralScanner::afterBackslash(char byte, std::string &out) {
  static constexpr std::string_view escapes = "abfnrtv'\"\\";
  static constexpr std::string_view meanings = "\a\b\f\n\r\t\v'\"\\";
  state = State::String;
  if (const size_t at = escapes.find(byte); at != std::string_view::npos) {
    appendEscaped(meanings[at], out);
    return Result::More;
  }
  if (byte == '\n') // a line that goes on
    return Result::More;
  if (byte == 'x' || byte == 'u' || byte == 'U') {
    state = State::Code;
    code = 0;
    digitsLeft = byte == 'x' ? 2 : byte == 'u' ? 4 : 8;
    return Result::More;
  }
  if (byte >= '0' && byte <= '7') {
    state = State::Octal;
    code = static_cast<uint32_t>(byte - '0');
    digitsLeft = 2;
    return Result::More;
  }
  if (byte == 'N')
    return Result::Fault;
  // Python keeps the backslash of what is no escape.
  out += "\\\\";
  return inString(byte, out);
}

LiteralScanner::Result LiteralScanner::inOctal(char byte, std::string &out) {
  if (digitsLeft > 0 && byte >= '0' && byte <= '7') {
    code = code * 8 + static_cast<uint32_t>(byte - '0');
    --digitsLeft;
    return Result::More;
  }
  appendCharacter(code, out);
  state = State::String;
  return inString(byte, out);
}

LiteralScanner::Result LiteralScanner::inCode(char byte, std::string &out) {
  const int value = hexValue(byte);
  if (value < 0)
    return Result::Fault;
  code = code << 4 | static_cast<uint32_t>(value);
  if (isJson())
    out += byte;
  if (--digitsLeft > 0)
    return Result::More;
  state = State::String;
  if (isJson())
    return endJsonCode();
  return appendCharacter(code, out) ? Result::More : Result::Fault;
}

LiteralScanner::Result LiteralScanner::endJsonCode() {
  const bool isHigh = code >= 0xD800 && code <= 0xDBFF;
  const bool isLow = code >= 0xDC00 && code <= 0xDFFF;
  if (isLow != afterHigh)
    return Result::Fault;
  afterHigh = isHigh;
  if (isHigh)
    state = State::Surrogate;
  return Result::More;
}

LiteralScanner::Result LiteralScanner::inSurrogate(char byte, std::string &out) {
  if (byte != '\\')
    return Result::Fault;
  out += byte;
  state = State::Escape;
  return Result::More;
}

} // namespace ingot::runtime
