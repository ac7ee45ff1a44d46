// SPDX-License-Identifier: Apache-2.0
// Lexer: a template's source as tokens, white space trimmed as trim_blocks and lstrip_blocks do.
#include "runtime/jinja/Lexer.h"

#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Failure.h"
#include "runtime/serving/Unicode.h"

#include <charconv>

namespace ingot::runtime::jinja {

std::string normalizeLines(std::string_view source) {
  std::string lines;
  lines.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n')
      continue;
    lines += source[i] == '\r' ? '\n' : source[i];
  }
  if (lines.ends_with('\n'))
    lines.pop_back();
  return lines;
}

namespace {

[[noreturn]] void wrong(std::string what) {
  throw Failure{syntaxCode, std::move(what), "correct the template"};
}

bool isDecimalDigit(char c) { return c >= '0' && c <= '9'; }

int digitValue(char c) {
  if (isDecimalDigit(c))
    return c - '0';
  const char lower = char(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

/// What a string literal stands for: Python's escapes.
class StringDecoder {
public:
  explicit StringDecoder(std::string_view body) : body(body) {}

  std::string decode() {
    while (at < body.size())
      if (body[at] == '\\' && at + 1 < body.size())
        escape();
      else
        out += body[at++];
    return std::move(out);
  }

private:
  void escape() {
    const char kind = body[at + 1];
    at += 2;
    constexpr std::string_view names = "abfnrtv\\'\"", values = "\a\b\f\n\r\t\v\\'\"";
    if (const size_t known = names.find(kind); known != names.npos) {
      out += values[known];
    } else if (kind == '\n') {
      // a line that goes on
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
      character(number(kind == 'x' ? 2 : kind == 'u' ? 4 : 8));
    } else if (kind >= '0' && kind <= '7') {
      octal(kind);
    } else if (kind == 'N') {
      wrong("a string names a character by \\N{...}, which is not known here; write the character");
    } else {
      out += '\\';
      out += kind;
    }
  }

  char32_t number(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = at < body.size() ? digitValue(body[at]) : 99;
      if (digit > 15)
        wrong("a string has an escape with too few hexadecimal digits");
      value = value * 16 + char32_t(digit);
      ++at;
    }
    return value;
  }

  void character(char32_t value) {
    const bool isPair = value >= 0xD800 && value < 0xDC00 && body.substr(at).starts_with("\\u");
    if (isPair) {
      at += 2;
      const char32_t low = number(4);
      if (low >= 0xDC00 && low < 0xE000)
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      wrong("a string has an escape of a number that is no character");
    appendCharacter(out, value);
  }

  void octal(char first) {
    char32_t value = char32_t(first - '0');
    for (int i = 0; i < 2 && at < body.size() && body[at] >= '0' && body[at] <= '7'; ++i)
      value = value * 8 + char32_t(body[at++] - '0');
    appendCharacter(out, value);
  }

  std::string_view body;
  size_t at = 0;
  std::string out;
};

constexpr std::string_view operators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                          "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                          ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

class Lexer {
public:
  Lexer(std::string_view source, uint32_t &offset) : source(source), offset(offset) {}

  std::vector<Token> run() {
    while (at < source.size())
      text();
    mark();
    add(TokenKind::End);
    return std::move(tokens);
  }

private:
  void mark() { offset = uint32_t(at); }

  Token &add(TokenKind kind, std::string value = {}) {
    tokens.push_back({kind, offset, std::move(value)});
    return tokens.back();
  }

  size_t skipSpace(size_t from) const {
    while (from < source.size() && isSpace(characterAt(source, from)))
      from += characterLength(source, from);
    return from;
  }

  bool startsAt(size_t place, std::string_view what) const {
    return source.substr(place).starts_with(what);
  }

  static bool isSign(char c) { return c == '-' || c == '+'; }

  /// `data` as a tag that begins behind it, with `sign`, leaves it.
  std::string_view trimmed(std::string_view data, char sign, bool isVariable) const {
    if (sign == '-') {
      size_t end = data.size();
      while (end > 0 && isSpace(characterAt(data, previousCharacter(data, end))))
        end = previousCharacter(data, end);
      return data.substr(0, end);
    }
    if (sign == '+' || isVariable)
      return data;
    const size_t newLine = data.rfind('\n');
    const size_t line = newLine == data.npos ? 0 : newLine + 1;
    if (line == 0 && !atLineStart)
      return data;
    size_t place = line;
    while (place < data.size() && isSpace(characterAt(data, place)))
      place += characterLength(data, place);
    return place == data.size() ? data.substr(0, line) : data;
  }

  void data(std::string_view text) {
    if (!text.empty())
      add(TokenKind::Data, std::string(text));
  }

  /// Text up to the next tag, and that tag.
  void text() {
    mark();
    size_t tag = at;
    do {
      tag = source.find('{', tag);
      if (tag == source.npos || tag + 1 == source.size()) {
        data(source.substr(at));
        at = source.size();
        return;
      }
      if (source[tag + 1] == '%' || source[tag + 1] == '{' || source[tag + 1] == '#')
        break;
      ++tag;
    } while (true);
    const char kind = source[tag + 1];
    const char sign = tag + 2 < source.size() && isSign(source[tag + 2]) ? source[tag + 2] : 0;
    data(trimmed(source.substr(at, tag - at), sign, kind == '{'));
    at = tag;
    mark();
    const size_t behind = tag + 2 + (sign != 0);
    if (kind == '#')
      comment(behind);
    else if (kind == '{')
      variable(behind);
    else if (const size_t raw = rawBegin(behind))
      rawText(raw);
    else
      block(behind);
  }

  void comment(size_t from) {
    const size_t end = source.find("#}", from);
    if (end == source.npos)
      wrong("a comment does not end: '#}' is missing");
    closed(end + 2, end > from ? source[end - 1] : 0, true);
  }

  /// Goes behind a closed tag; `sign` stands before its end.
  void closed(size_t behind, char sign, bool trimsNewLine) {
    at = behind;
    if (sign == '-')
      at = skipSpace(at);
    else if (sign != '+' && trimsNewLine && at < source.size() && source[at] == '\n')
      ++at;
    atLineStart = at > 0 && source[at - 1] == '\n';
  }

  /// Behind "raw %}" at `place`, or 0.
  size_t rawBegin(size_t place) const {
    place = skipSpace(place);
    if (!startsAt(place, "raw"))
      return 0;
    place = skipSpace(place + 3);
    if (startsAt(place, "-%}"))
      return skipSpace(place + 3);
    return startsAt(place, "%}") ? place + 2 : 0;
  }

  void rawText(size_t from) {
    atLineStart = source[from - 1] == '\n';
    for (size_t tag = source.find("{%", from); tag != source.npos;
         tag = source.find("{%", tag + 2)) {
      const char sign = tag + 2 < source.size() && isSign(source[tag + 2]) ? source[tag + 2] : 0;
      size_t place = skipSpace(tag + 2 + (sign != 0));
      if (!startsAt(place, "endraw"))
        continue;
      place = skipSpace(place + 6);
      const char end = place < source.size() && isSign(source[place]) ? source[place] : 0;
      place += end != 0;
      if (!startsAt(place, "%}"))
        continue;
      data(trimmed(source.substr(from, tag - from), sign, false));
      return closed(place + 2, end, true);
    }
    wrong("a raw block does not end: '{% endraw %}' is missing");
  }

  void variable(size_t from) {
    add(TokenKind::VariableBegin);
    at = from;
    while (true) {
      inTag("}}");
      if (open.empty() && startsAt(at, "-}}")) {
        add(TokenKind::VariableEnd);
        return closed(at + 3, '-', false);
      }
      if (open.empty() && startsAt(at, "}}")) {
        add(TokenKind::VariableEnd);
        return closed(at + 2, 0, false);
      }
      token();
    }
  }

  void block(size_t from) {
    add(TokenKind::BlockBegin);
    at = from;
    while (true) {
      inTag("%}");
      const char sign = at < source.size() && isSign(source[at]) ? source[at] : 0;
      if (open.empty() && startsAt(at + (sign != 0), "%}")) {
        add(TokenKind::BlockEnd);
        return closed(at + 2 + (sign != 0), sign, true);
      }
      token();
    }
  }

  /// Goes to the next token of a tag that `end` ends.
  void inTag(std::string_view end) {
    at = skipSpace(at);
    mark();
    if (at == source.size())
      wrong("a tag does not end: '" + std::string(end) + "' is missing");
  }

  void token() {
    const char first = source[at];
    if (isDecimalDigit(first))
      return number();
    if (first == '\'' || first == '"')
      return string(first);
    const size_t nameEnd = endOfName(at);
    if (nameEnd > at) {
      add(TokenKind::Name, std::string(source.substr(at, nameEnd - at)));
      at = nameEnd;
      return;
    }
    for (const std::string_view symbol : operators)
      if (startsAt(at, symbol)) {
        balance(symbol[0]);
        add(TokenKind::Operator, std::string(symbol));
        at += symbol.size();
        return;
      }
    wrong("unexpected character '" + std::string(source.substr(at, characterLength(source, at))) +
          "'");
  }

  size_t endOfName(size_t end) const {
    while (end < source.size() && isWordCharacter(characterAt(source, end)))
      end += characterLength(source, end);
    return end;
  }

  void balance(char symbol) {
    if (symbol == '(' || symbol == '[' || symbol == '{')
      open += symbol == '(' ? ')' : symbol == '[' ? ']' : '}';
    if (symbol != ')' && symbol != ']' && symbol != '}')
      return;
    if (open.empty() || open.back() != symbol)
      wrong("unexpected '" + std::string(1, symbol) + "'" +
            (open.empty() ? "" : ", expected '" + std::string(1, open.back()) + "'"));
    open.pop_back();
  }

  void string(char quote) {
    size_t end = at + 1;
    while (end < source.size() && source[end] != quote)
      end += source[end] == '\\' ? 2 : 1;
    if (end >= source.size())
      wrong("a string does not end");
    add(TokenKind::String, StringDecoder(source.substr(at + 1, end - at - 1)).decode());
    at = end + 1;
  }

  /// Behind digits of `base` that single underscores may part; `place` where there are none.
  size_t endOfDigits(size_t place, int base = 10) const {
    while (place < source.size() &&
           (digitValue(source[place]) < base ||
            (source[place] == '_' && place > 0 && digitValue(source[place - 1]) < base &&
             place + 1 < source.size() && digitValue(source[place + 1]) < base)))
      ++place;
    return place;
  }

  std::string withoutUnderscores(size_t begin, size_t end) const {
    std::string digits;
    for (const char c : source.substr(begin, end - begin))
      if (c != '_')
        digits += c;
    return digits;
  }

  void number() {
    size_t end = endOfDigits(at);
    const bool afterDot = at > 0 && source[at - 1] == '.';
    if (!afterDot) {
      size_t real = end;
      if (real + 1 < source.size() && source[real] == '.' && isDecimalDigit(source[real + 1]))
        real = endOfDigits(real + 1);
      if (real < source.size() && (source[real] | 0x20) == 'e') {
        size_t digits = real + 1;
        digits += digits < source.size() && isSign(source[digits]);
        if (digits < source.size() && isDecimalDigit(source[digits]))
          real = endOfDigits(digits);
      }
      if (real != end)
        return realNumber(real);
    }
    int base = 10;
    if (source[at] == '0' && at + 2 < source.size()) {
      const char kind = char(source[at + 1] | 0x20);
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
      const size_t first = at + 2 + (source[at + 2] == '_');
      if (base != 10 && first < source.size() && digitValue(source[first]) < base)
        return integer(first, endOfDigits(first, base), base);
    }
    if (source[at] == '0') // a number does not begin with a zero, but for those of zeros alone
      for (end = at + 1; end < source.size() &&
                         (source[end] == '0' || (source[end] == '_' && end + 1 < source.size() &&
                                                 source[end + 1] == '0'));)
        ++end;
    integer(at, end, 10);
  }

  void realNumber(size_t end) {
    const std::string digits = withoutUnderscores(at, end);
    double value = 0;
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) // too large is infinite, too small is zero
      value = std::strtod(digits.c_str(), nullptr);
    add(TokenKind::Float).number = value;
    at = end;
  }

  void integer(size_t begin, size_t end, int base) {
    const std::string digits = withoutUnderscores(begin, end);
    int64_t value = 0;
    const auto [last, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || last != digits.data() + digits.size())
      wrong("the number " + digits.substr(0, 40) + " has more than 64 bits");
    add(TokenKind::Integer).integer = value;
    at = end;
  }

  std::string_view source;
  uint32_t &offset;
  size_t at = 0;
  bool atLineStart = true;
  std::string open; ///< the brackets that are still to be closed
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> tokenize(std::string_view source, uint32_t &offset) {
  return Lexer(source, offset).run();
}

} // namespace ingot::runtime::jinja
