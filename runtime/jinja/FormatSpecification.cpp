// SPDX-License-Identifier: Apache-2.0
// format(): Python's language for how one value is written, as in "{:>8.2f}".
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/NumberText.h"
#include "runtime/jinja/Representation.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime::jinja {

namespace {

/// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct Specification {
  std::string fill = " ";
  char align = 0;
  char sign = '-';
  bool isAlternate = false;
  int64_t width = 0;
  char grouping = 0;
  int64_t precision = -1;
  char type = 0;

  explicit Specification(std::string_view text) : left(text) {
    const size_t first = left.empty() ? 0 : characterLength(left, 0);
    if (left.size() > first && isAlign(left[first])) {
      fill = left.substr(0, first);
      align = left[first];
      left.remove_prefix(first + 1);
    } else if (!left.empty() && isAlign(left[0])) {
      align = take();
    }
    if (at('+') || at('-') || at(' '))
      sign = take();
    if (at('z'))
      take();
    isAlternate = at('#') && take();
    if (at('0')) {
      if (align == 0) {
        fill = "0";
        align = '=';
      }
      take();
    }
    width = number().value_or(0);
    if (at(',') || at('_'))
      grouping = take();
    if (at('.')) {
      take();
      const std::optional<int64_t> digits = number();
      if (!digits)
        fail("a format lacks the digits behind its '.'");
      precision = *digits;
    }
    if (!left.empty())
      type = take();
    if (!left.empty())
      fail("invalid format specifier " + quoted(text));
  }

private:
  static bool isAlign(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }
  bool at(char c) const { return left.starts_with(c); }
  char take() {
    const char c = left[0];
    left.remove_prefix(1);
    return c;
  }
  std::optional<int64_t> number() {
    if (left.empty() || left[0] < '0' || left[0] > '9')
      return std::nullopt;
    int64_t value = 0;
    while (!left.empty() && left[0] >= '0' && left[0] <= '9') {
      value = value * 10 + (take() - '0');
      if (value > (int64_t(1) << 40))
        fail("a format has a number that is too large");
    }
    return value;
  }
  std::string_view left;
};

/// `digits` with the mark between groups, from the right.
std::string grouped(const std::string &digits, char mark, size_t size) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0)
      out += mark;
    out += digits[i];
  }
  return out;
}

/// A number in its parts: sign, prefix, digits before the point, and the rest.
struct NumberParts {
  std::string sign;
  std::string whole;
  std::string rest;
};

Text padded(Heap &heap, const Text &body, const Specification &form, char defaultAlign) {
  const auto length = int64_t(countCharacters(body.view()));
  const int64_t space = std::max<int64_t>(form.width - length, 0);
  const char align = form.align ? form.align : defaultAlign;
  const int64_t before = align == '<' ? 0 : align == '^' ? space / 2 : space;
  heap.charge(size_t(space) * form.fill.size() + body.size());
  Text out;
  for (int64_t i = 0; i < before; ++i)
    out.append(form.fill);
  out.append(body);
  for (int64_t i = before; i < space; ++i)
    out.append(form.fill);
  return out;
}

Text numberText(Heap &heap, NumberParts parts, const Specification &form, size_t groupSize) {
  std::string whole = parts.whole;
  if (form.grouping)
    whole = grouped(whole, form.grouping, groupSize);
  if (form.align != '=')
    return padded(heap, Text(parts.sign + whole + parts.rest), form, '>');
  // The fill stands between the sign and the digits; zeros are grouped as digits are.
  const int64_t space = form.width - int64_t(parts.sign.size() + parts.rest.size());
  heap.charge(size_t(std::max<int64_t>(space, 0)));
  if (form.grouping && form.fill == "0") {
    while (int64_t(whole.size()) < space) {
      parts.whole.insert(0, "0");
      const std::string wider = grouped(parts.whole, form.grouping, groupSize);
      heap.step(wider.size());
      whole = wider;
    }
    return Text(parts.sign + whole + parts.rest);
  }
  std::string fill;
  for (auto i = int64_t(whole.size()); i < space; ++i)
    fill += form.fill;
  return Text(parts.sign + fill + whole + parts.rest);
}

std::string signOf(bool isNegative, char form) {
  return isNegative ? "-" : form == '+' ? "+" : form == ' ' ? " " : "";
}

Text floatText(Heap &heap, double value, const Specification &form) {
  const char type = form.type;
  const bool isUpper = type == 'F' || type == 'E' || type == 'G';
  NumberParts parts;
  parts.sign = signOf(std::signbit(value) && !std::isnan(value), form.sign);
  const double magnitude = std::fabs(value);
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? (isUpper ? "NAN" : "nan") : (isUpper ? "INF" : "inf");
    if (type == '%')
      digits += '%';
    return numberText(heap, {parts.sign, "", digits}, form, 3);
  }
  const int precision = int(std::min<int64_t>(form.precision < 0 ? 6 : form.precision, 1000));
  if (type == '%')
    digits = formatFloat(magnitude * 100, 'f', precision) + "%";
  else if (type == 0 && form.precision < 0)
    digits = reprOfFloat(magnitude);
  else if (type == 0) { // as %g, but with a digit behind the point
    digits = formatFloat(magnitude, 'g', std::max(precision, 1));
    const size_t exponent = digits.find('e');
    if (exponent == digits.npos && digits.find('.') == digits.npos) {
      // Python writes 1e+02 rather than 100.0 where the digits do not suffice.
      if (int(digits.size()) >= std::max(precision, 1) && magnitude >= 1)
        digits = formatFloat(magnitude, 'e', std::max(precision, 1) - 1);
      else
        digits += ".0";
    }
  } else
    digits = formatFloat(magnitude, type == 'n' ? 'g' : type, precision);
  const size_t whole = digits.find_first_not_of("0123456789");
  parts.whole = digits.substr(0, whole);
  parts.rest = whole == digits.npos ? "" : digits.substr(whole);
  return numberText(heap, parts, form, 3);
}

Text integerText(Heap &heap, int64_t value, const Specification &form) {
  if (form.precision >= 0)
    fail("precision not allowed in integer format specifier");
  const uint64_t magnitude = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  NumberParts parts{signOf(value < 0, form.sign), "", ""};
  int base = 10;
  if (form.type == 'x' || form.type == 'X')
    base = 16;
  else if (form.type == 'o')
    base = 8;
  else if (form.type == 'b')
    base = 2;
  if (base != 10 && form.grouping == ',')
    fail("Cannot specify ',' with '" + std::string(1, form.type) + "'.");
  if (form.isAlternate && base != 10)
    parts.sign += std::string("0") + form.type;
  parts.whole = formatMagnitude(magnitude, base, form.type == 'X');
  return numberText(heap, parts, form, base == 10 ? 3 : 4);
}

[[noreturn]] void unknownType(char type, const Value &value) {
  fail("Unknown format code '" + std::string(1, type) + "' for object of type '" +
       std::string(typeName(value)) + "'");
}

Text stringText(Heap &heap, const Value &value, const Specification &form) {
  if (form.type && form.type != 's')
    unknownType(form.type, value);
  if (form.align == '=' || form.sign != '-' || form.grouping || form.isAlternate)
    fail("a sign, '=', '#' or a grouping is not allowed in a string's format specifier");
  const Text &text = value.string().text;
  if (form.precision < 0)
    return padded(heap, text, form, '<');
  return padded(heap, text.slice(0, byteOffset(text.view(), size_t(form.precision))), form, '<');
}

} // namespace

Text formatted(Heap &heap, const Value &value, std::string_view specification) {
  if (specification.empty())
    return textOf(heap, value);
  if (!value.isString() && !value.isNumber())
    fail("unsupported format string passed to " + std::string(typeName(value)) + ".__format__");
  const Specification form(specification);
  if (value.isString())
    return stringText(heap, value, form);
  constexpr std::string_view integers = "bdoxXn", floats = "eEfFgG%";
  if (value.is(Kind::Float)) {
    if (form.type && form.type != 'n' && floats.find(form.type) == floats.npos)
      unknownType(form.type, value);
    return floatText(heap, value.number(), form);
  }
  if (form.type && floats.find(form.type) != floats.npos)
    return floatText(heap, value.number(), form);
  if (form.type == 'c') {
    std::string character;
    if (value.integer() < 0 || value.integer() > 0x10FFFF ||
        (value.integer() >= 0xD800 && value.integer() < 0xE000))
      fail("%c arg not in range(0x110000)");
    appendCharacter(character, char32_t(value.integer()));
    return padded(heap, Text(character), form, '<');
  }
  if (form.type && integers.find(form.type) == integers.npos)
    unknownType(form.type, value);
  return integerText(heap, value.integer(), form);
}

} // namespace ingot::runtime::jinja
