// SPDX-License-Identifier: Apache-2.0
// Refusals name the line and the column.
#include "runtime/guided/grammars/GrammarReader.h"

namespace ingot::runtime::guided {

std::string placeIn(std::string_view text, size_t offset) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < std::min(offset, text.size()); ++i) {
    const auto byte = uint8_t(text[i]);
    if (byte == '\n') {
      ++line;
      column = 1;
    } else if ((byte & 0xC0) != 0x80) {
      ++column;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

GrammarReader::GrammarReader(std::string_view text, std::string_view language)
    : text(text), language(language) {
  if (text.size() > longestText)
    refuse(longestText, "it has more than " + std::to_string(longestText) + " bytes",
           "INGOT-E6623");
}

bool GrammarReader::refuse(size_t place, std::string_view why, std::string_view code) {
  if (failure.ok())
    failure = Status::error(code, "the grammar (" + std::string(language) + ") is refused at " +
                                      placeIn(text, place) + ": " + std::string(why));
  at = text.size();
  return false;
}

bool GrammarReader::refuseNext(std::string_view wanted) {
  if (ended())
    return refuse(at, "it ends where " + std::string(wanted) + " should stand");
  const size_t place = at;
  char32_t value = 0;
  if (!readCharacter(value))
    return false;
  const std::string found(text.substr(place, at - place));
  return refuse(place,
                (found == "\n" || found == "\r" ? "the line ends" : "'" + found + "' stands") +
                    std::string(" where ") + std::string(wanted) + " should");
}

bool GrammarReader::take(std::string_view expected) {
  if (!ahead(expected))
    return false;
  at += expected.size();
  return true;
}

void GrammarReader::skipBlanks() {
  while (!ended() && (text[at] == ' ' || text[at] == '\t'))
    ++at;
}

bool GrammarReader::isWord(char character) {
  const char folded = char(character | 0x20);
  return (folded >= 'a' && folded <= 'z') || isDigit(character) || character == '_';
}

bool GrammarReader::readCount(uint32_t &count) {
  const size_t place = at;
  if (ended() || !isDigit(text[at]))
    return refuseNext("a number");
  uint64_t value = 0;
  for (; !ended() && isDigit(text[at]); ++at)
    value = std::min<uint64_t>(value * 10 + uint64_t(text[at] - '0'), uint64_t(largestCount) + 1);
  count = uint32_t(value);
  return value <= largestCount ||
         refuse(place, "a count above " + std::to_string(largestCount), "INGOT-E6623");
}

bool GrammarReader::readBraces(size_t place, bool mayOmit, uint32_t &minimum, uint32_t &maximum) {
  skipBlanks();
  minimum = 0;
  if (!(mayOmit && ahead(",")) && !readCount(minimum))
    return false;
  skipBlanks();
  maximum = minimum;
  if (take(",")) {
    skipBlanks();
    maximum = ExpressionArena::unbounded;
    if (!ahead("}") && !readCount(maximum))
      return false;
    skipBlanks();
  }
  if (!take("}"))
    return refuseNext("a number, ',' or '}'");
  return minimum <= maximum || refuse(place, "a count whose minimum is above its maximum");
}

bool GrammarReader::readHexadecimal(size_t digits, char32_t &value) {
  value = 0;
  for (size_t i = 0; i < digits; ++i, ++at) {
    const char digit = ended() ? ' ' : text[at];
    const char folded = char(digit | 0x20);
    if (isDigit(digit))
      value = value * 16 + char32_t(digit - '0');
    else if (folded >= 'a' && folded <= 'f')
      value = value * 16 + char32_t(folded - 'a' + 10);
    else
      return refuseNext("a hexadecimal digit of an escape");
  }
  return true;
}

bool GrammarReader::readCode(size_t place, char letter, char32_t &value, bool anyValue) {
  if (!readHexadecimal(letter == 'x' ? 2 : letter == 'u' ? 4 : 8, value))
    return false;
  const bool isSurrogate = value >= 0xD800 && value <= 0xDFFF;
  return (value <= 0x10FFFF && (anyValue || !isSurrogate)) ||
         refuse(place, "the escape is no character of Unicode");
}

bool GrammarReader::readCharacter(char32_t &value) {
  return decodeCharacter(text, at, value) || refuse(at, "it is not UTF-8");
}

bool GrammarReader::enter(size_t place) {
  return ++depth <= deepestGroup ||
         refuse(place, "groups nest more than " + std::to_string(deepestGroup) + " deep",
                "INGOT-E6623");
}

bool GrammarReader::define(std::string_view name, size_t place, RuleTree::NodeId body,
                           bool lexical) {
  return tree.define(name, place, body, lexical) ||
         refuse(place, "'" + std::string(name) + "' is defined twice", "INGOT-E6621");
}

void appendUtf8(std::string &bytes, char32_t character) {
  auto put = [&](char32_t value) { bytes += char(uint8_t(value)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  } else {
    put(0xF0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3F));
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  }
}

} // namespace ingot::runtime::guided
