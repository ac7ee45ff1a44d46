// SPDX-License-Identifier: Apache-2.0
// Characters, classes and escapes of ECMA-262's expressions.
#include "runtime/guided/RegexReader.h"

namespace ingot::runtime::guided {

static const CharacterSet &digits() {
  static const CharacterSet set({{'0', '9'}});
  return set;
}

static const CharacterSet &wordCharacters() {
  static const CharacterSet set({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return set;
}

/// WhiteSpace and LineTerminator of ECMA-262.
static const CharacterSet &spaces() {
  static const CharacterSet set({{0x09, 0x0D},
                                 {0x20, 0x20},
                                 {0xA0, 0xA0},
                                 {0x1680, 0x1680},
                                 {0x2000, 0x200A},
                                 {0x2028, 0x2029},
                                 {0x202F, 0x202F},
                                 {0x205F, 0x205F},
                                 {0x3000, 0x3000},
                                 {0xFEFF, 0xFEFF}});
  return set;
}

static const CharacterSet &lineFeed() {
  static const CharacterSet set({{'\n', '\n'}});
  return set;
}

static const CharacterSet &lineEnds() {
  static const CharacterSet set({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
  return set;
}

ExpressionId RegexReader::oneOf(const CharacterSet &set) {
  return spelled(arena, set, options.spelling);
}

ExpressionId RegexReader::character(char32_t value) {
  if (modes.ignoreCase)
    return oneOf(cased(CharacterSet({{value, value}})));
  auto [place, isNew] = known.try_emplace(value, ExpressionArena::nothing);
  if (isNew)
    place->second = oneOf(CharacterSet({{value, value}}));
  return place->second;
}

ExpressionId RegexReader::atom() {
  const size_t start = at;
  char32_t value = 0;
  switch (pattern[at]) {
  case '.':
    ++at;
    return oneOf(modes.dotAll        ? CharacterSet::all()
                 : options.pythonDot ? lineFeed().complement()
                                     : lineEnds().complement());
  case '[':
    return oneOf(characterClass());
  case '\\': {
    CharacterSet set;
    bool single = false;
    if (!escape(set, value, single, false))
      return ExpressionArena::nothing;
    return single ? character(value) : oneOf(set);
  }
  default:
    if (decodeCharacter(pattern, at, value))
      return character(value);
    refuse(start, "not UTF-8");
    return ExpressionArena::nothing;
  }
}

CharacterSet RegexReader::characterClass() {
  const size_t start = at++;
  const bool negated = take('^');
  std::vector<CharacterRange> parts;
  auto add = [&](const CharacterSet &set) {
    parts.insert(parts.end(), set.parts().begin(), set.parts().end());
  };
  while (failure.ok() && !take(']')) {
    if (at >= pattern.size()) {
      refuse(start, "a class without an end");
      return {};
    }
    const size_t item = at;
    CharacterSet first, last;
    char32_t low = 0, high = 0;
    bool single = false, singleLast = false;
    if (!classItem(first, low, single))
      return {};
    const bool ranged = at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']';
    if (!ranged) {
      add(single ? CharacterSet({{low, low}}) : first);
      continue;
    }
    ++at;
    if (!classItem(last, high, singleLast))
      return {};
    if (single && singleLast) {
      if (low > high) {
        refuse(item, "a range of a class that runs backwards");
        return {};
      }
      parts.push_back({low, high});
      continue;
    }
    // "[\w-.]": the hyphen is itself, as without the flag "u".
    parts.push_back({'-', '-'});
    add(single ? CharacterSet({{low, low}}) : first);
    add(singleLast ? CharacterSet({{high, high}}) : last);
  }
  CharacterSet set = cased(CharacterSet(std::move(parts)));
  return negated ? set.complement() : set;
}

bool RegexReader::classItem(CharacterSet &set, char32_t &value, bool &single) {
  if (pattern[at] == '\\')
    return escape(set, value, single, true);
  single = true;
  if (decodeCharacter(pattern, at, value))
    return true;
  refuse(at, "not UTF-8");
  return false;
}

bool RegexReader::classEscape(char letter, CharacterSet &set) {
  switch (letter) {
  case 'd':
    set = digits();
    return true;
  case 'D':
    set = digits().complement();
    return true;
  case 'w':
    set = wordCharacters();
    return true;
  case 'W':
    set = wordCharacters().complement();
    return true;
  case 's':
    set = spaces();
    return true;
  case 'S':
    set = spaces().complement();
    return true;
  default:
    return false;
  }
}

bool RegexReader::hexadecimal(size_t digits, char32_t &value) {
  if (pattern.size() - at < digits)
    return false;
  char32_t sum = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = pattern[at + i];
    if (c >= '0' && c <= '9')
      sum = sum * 16 + char32_t(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      sum = sum * 16 + char32_t((c | 0x20) - 'a' + 10);
    else
      return false;
  }
  at += digits;
  value = sum;
  return true;
}

/// Behind "\u".
bool RegexReader::unicodeEscape(size_t start, char32_t &value) {
  auto bad = [&] {
    refuse(start, "\\u without a character");
    return false;
  };
  if (take('{')) {
    const size_t end = pattern.find('}', at);
    while (at < end && end != std::string_view::npos && end - at > 6 && pattern[at] == '0')
      ++at;
    if (end == std::string_view::npos || end == at || end - at > 6 ||
        !hexadecimal(end - at, value) || value > 0x10FFFF)
      return bad();
    ++at;
  } else if (!hexadecimal(4, value)) {
    return bad();
  }
  char32_t low = 0;
  const size_t behind = at;
  if (value >= 0xD800 && value < 0xDC00 && take('\\') && take('u') && hexadecimal(4, low) &&
      low >= 0xDC00 && low < 0xE000) {
    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    return true;
  }
  at = behind;
  return true;
}

/// Behind "\p" or "\P".
bool RegexReader::property(size_t start, bool negated, CharacterSet &set) {
  const size_t end = pattern.find('}', at);
  if (!take('{') || end == std::string_view::npos) {
    refuse(start, "\\p without a property in braces");
    return false;
  }
  std::string_view name = pattern.substr(at, end - at), full = name;
  at = end + 1;
  for (std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  if (name == "Any")
    set = CharacterSet::all();
  else if (name == "ASCII")
    set = CharacterSet({{0, 0x7F}});
  else if (!generalCategory(name, set)) {
    refuse(start, "the property " + std::string(full.substr(0, 64)) + " is not served");
    return false;
  }
  if (negated)
    set = cased(set).complement();
  return true;
}

/// What the letters of control escapes stand for.
static int controlOf(char letter) {
  switch (letter) {
  case 't':
    return '\t';
  case 'n':
    return '\n';
  case 'v':
    return '\v';
  case 'f':
    return '\f';
  case 'r':
    return '\r';
  default:
    return -1;
  }
}

bool RegexReader::escape(CharacterSet &set, char32_t &value, bool &single, bool inClass) {
  const size_t start = at++;
  auto refused = [&](std::string_view why) {
    refuse(start, why);
    return false;
  };
  if (at >= pattern.size())
    return refused("a backslash at the end");
  const char letter = pattern[at++];
  if (classEscape(letter, set))
    return true;
  if (letter == 'p' || letter == 'P')
    return property(start, letter == 'P', set);
  single = true;
  if (int control = controlOf(letter); control >= 0) {
    value = char32_t(control);
    return true;
  }
  const bool digitNext = at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9';
  switch (letter) {
  case 'u':
    return unicodeEscape(start, value);
  case 'x':
    return hexadecimal(2, value) || refused("\\x without two hexadecimal digits");
  case 'c':
    if (at >= pattern.size() || !((pattern[at] | 0x20) >= 'a' && (pattern[at] | 0x20) <= 'z'))
      return refused("\\c without a letter");
    value = char32_t(pattern[at++] % 32);
    return true;
  case '0':
    value = 0;
    return !digitNext || refused("octal escapes are not served");
  case 'b':
    value = '\b';
    return inClass || refused("the word boundary \\b is not served");
  case 'B':
    return refused("the word boundary \\B is not served");
  case 'k':
    return refused("back-references are not regular");
  default:
    break;
  }
  if (letter >= '1' && letter <= '9')
    return refused("back-references are not regular");
  const char folded = char(letter | 0x20);
  if (uint8_t(letter) >= 0x80 || (folded >= 'a' && folded <= 'z'))
    return refused("no escape of ECMA-262");
  value = char32_t(letter);
  return true;
}

} // namespace ingot::runtime::guided
