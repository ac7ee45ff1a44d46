// SPDX-License-Identifier: Apache-2.0
// "..." % values: conversions as printf has them.
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/NumberText.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime::jinja {

namespace {

struct Conversion {
  bool isAlternate = false, isLeft = false, isZero = false;
  char sign = 0;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

class PercentFormatter {
public:
  PercentFormatter(Interpreter &interpreter, const Value &text, const Value &values)
      : heap(interpreter.heap), text(text.string().text), isMarkup(text.string().isMarkup),
        bytes(this->text.view()), values(values) {}

  Text format() {
    while (at < bytes.size()) {
      const size_t percent = std::min(bytes.find('%', at), bytes.size());
      out.append(text, at, percent);
      heap.charge(percent - at);
      at = percent + 1;
      if (percent < bytes.size())
        conversion();
    }
    // What can be subscribed, given as the one value, need not be taken.
    const bool isMapping =
        values.isDict() || values.is(Kind::List) || values.is(Kind::Range) || values.isUndefined();
    const size_t given = values.is(Kind::Tuple) ? values.items().size() : 1;
    if (taken < given && !isMapping)
      fail("not all arguments converted during string formatting");
    return std::move(out);
  }

private:
  char current() const {
    if (at >= bytes.size())
      fail("incomplete format");
    return bytes[at];
  }

  Value next() {
    if (values.is(Kind::Tuple)) {
      if (taken >= values.items().size())
        fail("not enough arguments for format string");
      return values.items()[taken++];
    }
    if (taken++ > 0)
      fail("not enough arguments for format string");
    return values;
  }

  Value named() {
    const size_t end = bytes.find(')', at);
    if (end == bytes.npos)
      fail("incomplete format key");
    if (!values.isDict())
      fail("format requires a mapping");
    const Value *found = values.dict().find(bytes.substr(at + 1, end - at - 1));
    if (!found)
      fail("a format needs a value for " + quoted(bytes.substr(at + 1, end - at - 1)));
    at = end + 1;
    return *found;
  }

  int64_t number() {
    if (current() == '*') {
      ++at;
      const Value value = next();
      if (!value.isInteger())
        fail("* wants int");
      return std::clamp<int64_t>(value.integer(), -(int64_t(1) << 40), int64_t(1) << 40);
    }
    int64_t value = 0;
    while (current() >= '0' && current() <= '9') {
      value = value * 10 + (bytes[at++] - '0');
      if (value > (int64_t(1) << 40))
        fail("a format has a number that is too large");
    }
    return value;
  }

  Conversion parse() {
    Conversion form;
    for (bool isFlag = true; isFlag;) {
      switch (current()) {
      case '#':
        form.isAlternate = true;
        break;
      case '-':
        form.isLeft = true;
        break;
      case '0':
        form.isZero = true;
        break;
      case '+':
        form.sign = '+';
        break;
      case ' ':
        form.sign = form.sign ? form.sign : ' ';
        break;
      default:
        isFlag = false;
        continue;
      }
      ++at;
    }
    form.width = number();
    if (form.width < 0) {
      form.isLeft = true;
      form.width = -form.width;
    }
    if (current() == '.') {
      ++at;
      form.precision = std::max<int64_t>(number(), 0);
    }
    while (current() == 'l' || current() == 'h' || current() == 'L')
      ++at;
    form.type = current();
    ++at;
    return form;
  }

  void conversion() {
    std::optional<Value> value;
    if (current() == '(')
      value = named();
    const Conversion form = parse();
    if (form.type == '%') {
      out.append("%");
      return;
    }
    constexpr std::string_view known = "diouxXeEfFgGcrsa";
    if (known.find(form.type) == known.npos)
      fail("unsupported format character '" + std::string(1, form.type) + "'");
    if (!value)
      value = next();
    if (value->isUndefined() && form.type != 's' && form.type != 'r' && form.type != 'a')
      value->undefined().fail();
    switch (form.type) {
    case 's':
    case 'r':
    case 'a':
      return string(*value, form);
    case 'c':
      return character(*value, form);
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return integer(*value, form);
    default:
      return real(*value, form);
    }
  }

  void pad(const Text &body, const Conversion &form) {
    const int64_t space = std::max<int64_t>(form.width - int64_t(countCharacters(body.view())), 0);
    heap.charge(size_t(space) + body.size());
    if (!form.isLeft)
      out.append(std::string(size_t(space), ' '));
    out.append(body);
    if (form.isLeft)
      out.append(std::string(size_t(space), ' '));
  }

  void string(const Value &value, const Conversion &form) {
    Text body;
    if (form.type == 's')
      body = isMarkup ? htmlOf(heap, value) : textOf(heap, value);
    else
      appendRepr(heap, body, value);
    if (isMarkup && form.type != 's')
      body = escapedHtml(heap, body);
    if (form.precision >= 0)
      body = body.slice(0, byteOffset(body.view(), size_t(form.precision)));
    pad(body, form);
  }

  void character(const Value &value, const Conversion &form) {
    std::string character;
    if (value.isString() && value.string().characters == 1)
      return pad(value.string().text, form);
    if (!value.isInteger())
      fail("%c requires int or char");
    const int64_t code = value.integer();
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail("%c arg not in range(0x110000)");
    appendCharacter(character, char32_t(code));
    pad(Text(character), form);
  }

  /// A number's digits with its sign and zeros before it.
  void digits(bool isNegative, std::string prefix, std::string digits, const Conversion &form) {
    const std::string sign = isNegative ? "-" : form.sign ? std::string(1, form.sign) : "";
    prefix = sign + prefix;
    if (form.isZero && !form.isLeft) {
      const int64_t space = form.width - int64_t(prefix.size() + digits.size());
      heap.charge(size_t(std::max<int64_t>(space, 0)));
      digits.insert(0, size_t(std::max<int64_t>(space, 0)), '0');
    }
    pad(Text(prefix + digits), form);
  }

  void integer(const Value &value, const Conversion &form) {
    int64_t whole = 0;
    const bool isDecimal = form.type == 'd' || form.type == 'i' || form.type == 'u';
    if (value.isInteger())
      whole = value.integer();
    else if (isDecimal && value.is(Kind::Float) && std::fabs(value.number()) < 0x1p63)
      whole = int64_t(value.number());
    else
      fail("%" + std::string(1, form.type) + " format: a number is required, not " +
           std::string(typeName(value)));
    const uint64_t magnitude = whole < 0 ? 0 - uint64_t(whole) : uint64_t(whole);
    const int base = isDecimal ? 10 : form.type == 'o' ? 8 : 16;
    std::string text = formatMagnitude(magnitude, base, form.type == 'X');
    const int64_t zeros = std::max<int64_t>(form.precision - int64_t(text.size()), 0);
    heap.charge(size_t(zeros));
    text.insert(0, size_t(zeros), '0');
    digits(whole < 0, form.isAlternate && !isDecimal ? std::string("0") + form.type : "", text,
           form);
  }

  void real(const Value &value, const Conversion &form) {
    if (!value.isNumber())
      fail("must be real number, not " + std::string(typeName(value)));
    const double number = value.number();
    const bool isNegative = std::signbit(number) && !std::isnan(number);
    const int precision = form.precision < 0 ? 6 : int(std::min<int64_t>(form.precision, 1000));
    Conversion plain = form;
    plain.isZero &= std::isfinite(number);
    digits(isNegative, "", formatFloat(std::fabs(number), form.type, precision), plain);
  }

  Heap &heap;
  const Text &text;
  const bool isMarkup;
  const std::string_view bytes;
  const Value values;
  size_t at = 0;
  size_t taken = 0;
  Text out;
};

} // namespace

Value percentFormat(Interpreter &interpreter, const Value &text, const Value &values) {
  return makeString(interpreter.heap, PercentFormatter(interpreter, text, values).format(),
                    text.string().isMarkup);
}

} // namespace ingot::runtime::jinja
