// SPDX-License-Identifier: Apache-2.0
// Filters of numbers and of any value: int, round, default, tojson, ...
#include "runtime/jinja/Access.h"
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/JsonText.h"
#include "runtime/jinja/NumberText.h"
#include "runtime/jinja/Representation.h"

#include <cmath>

namespace ingot::runtime::jinja {

namespace {

Value absolute(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("abs", arguments, {});
  if (value.isUndefined())
    value.undefined().fail();
  if (value.is(Kind::Float))
    return Value(std::fabs(value.number()));
  if (!value.isInteger())
    fail("bad operand type for abs(): '" + std::string(typeName(value)) + "'");
  if (value.integer() == INT64_MIN)
    fail("an integer has more than 64 bits");
  return Value(std::abs(value.integer()));
}

Value attribute(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("attr", arguments, {"name"}, 1);
  if (value.isUndefined())
    value.undefined().fail();
  const std::string_view name = bound.string(0).text.view();
  if (const std::optional<Value> own = ownAttribute(interpreter, value, name))
    return *own;
  return makeUndefined(interpreter.heap, quoted(std::string(typeName(value)) + " object") +
                                             " has no attribute " + quoted(name));
}

Value otherwise(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  if (!value.isUndefined() && !(bound.truth(1, false) && !isTrue(value)))
    return value;
  return bound.has(0) ? bound[0] : makeString(interpreter.heap, "");
}

Value fileSize(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("filesizeformat", arguments, {"binary"});
  const std::optional<double> size = floatOf(value);
  if (!size)
    fail("filesizeformat needs a number");
  const bool isBinary = bound.truth(0, false);
  const double base = isBinary ? 1024 : 1000;
  if (*size == 1)
    return makeString(interpreter.heap, "1 Byte");
  if (!std::isfinite(*size))
    fail("filesizeformat needs a finite number");
  if (*size < base)
    return makeString(interpreter.heap, formatFloat(std::trunc(*size) + 0.0, 'f', 0) + " Bytes");
  constexpr std::string_view decimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  constexpr std::string_view binary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double unit = base;
  size_t prefix = 0;
  do
    unit *= base;
  while (*size >= unit && ++prefix < std::size(decimal));
  prefix = std::min(prefix, std::size(decimal) - 1);
  unit = std::pow(base, double(prefix + 2));
  return makeString(interpreter.heap, formatFloat(base * *size / unit, 'f', 1) + " " +
                                          std::string((isBinary ? binary : decimal)[prefix]));
}

Value toInteger(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  if (value.isUndefined())
    value.undefined().fail();
  if (value.isString())
    if (const std::optional<int64_t> whole = parseInteger(value.view(), bound.integer(1, 10)))
      return Value(*whole);
  if (value.isInteger())
    return Value(value.integer());
  // "42.5" and 42.5 lose their fractions.
  if (const std::optional<double> real = floatOf(value)) {
    if (std::isfinite(*real) && std::fabs(*real) < 0x1p63)
      return Value(int64_t(*real));
    if (std::isfinite(*real))
      fail("an integer has more than 64 bits");
    if (value.is(Kind::Float) && std::isinf(*real))
      fail("cannot convert float infinity to integer");
  }
  return bound.has(0) ? bound[0] : Value(int64_t(0));
}

Value toFloat(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("float", arguments, {"default"});
  if (value.isUndefined())
    value.undefined().fail();
  if (const std::optional<double> real = floatOf(value))
    return Value(*real);
  return bound.has(0) ? bound[0] : Value(0.0);
}

/// round() of Python: half to even, of the decimal digits that the number has.
double rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 322)
    return value;
  if (digits < -308)
    return std::copysign(0.0, value);
  if (digits >= 0)
    return *parseFloat(formatFloat(value, 'f', int(digits)));
  const double scale = std::pow(10.0, double(-digits));
  return std::nearbyint(value / scale) * scale;
}

Value roundInteger(int64_t value, int64_t digits) {
  if (digits >= 0)
    return Value(value);
  if (digits < -18)
    return Value(int64_t(0));
  int64_t scale = 1;
  for (int64_t i = digits; i < 0; ++i)
    scale *= 10;
  int64_t quotient = value / scale;
  const int64_t rest = std::abs(value % scale);
  if (rest > scale / 2 || (rest == scale / 2 && quotient % 2 != 0))
    quotient += value < 0 ? -1 : 1;
  int64_t result = 0;
  if (__builtin_mul_overflow(quotient, scale, &result))
    fail("an integer has more than 64 bits");
  return Value(result);
}

Value roundFilter(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::string_view method = bound.has(1) ? bound.string(1).text.view() : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    fail("method must be common, ceil or floor");
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isNumber())
    fail("type " + std::string(typeName(value)) + " doesn't define __round__ method");
  const bool isWhole = bound.has(0) && bound[0].isNone() && method == "common";
  const int64_t digits = isWhole ? 0 : bound.integer(0, 0);
  if (method == "common") {
    if (value.isInteger())
      return roundInteger(value.integer(), digits);
    const double result = rounded(value.number(), digits);
    if (!isWhole)
      return Value(result);
    if (!(std::fabs(result) < 0x1p63))
      fail("an integer has more than 64 bits");
    return Value(int64_t(result));
  }
  const double scale = std::pow(10.0, double(digits));
  const double scaled = value.number() * scale;
  if (!std::isfinite(scaled) || scale == 0)
    fail("the number is too large to be rounded");
  // An integer in Python, which has no negative zero.
  return Value(((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0) / scale);
}

Value length(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("length", arguments, {});
  const std::optional<size_t> count = lengthOf(value);
  if (!count)
    fail("object of type '" + std::string(typeName(value)) + "' has no len()");
  return Value(int64_t(*count));
}

Value toString(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("string", arguments, {});
  return value.isString() ? value : makeString(interpreter.heap, textOf(interpreter.heap, value));
}

/// pprint of Python without its order of keys and its line breaks: repr().
Value prettyPrint(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("pprint", arguments, {});
  Text text;
  appendRepr(interpreter.heap, text, value);
  return makeString(interpreter.heap, std::move(text));
}

/// One separator of json.dumps: a string.
std::string separator(const Value &value) {
  if (!value.isString())
    fail("the separators of tojson must be strings");
  return std::string(value.view());
}

Value toJson(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonForm form;
  form.ensureAscii = bound.truth(0, false);
  form.sortKeys = bound.truth(3, false);
  if (bound.has(1) && !bound[1].isNone()) {
    form.indent = bound[1].isString()
                      ? std::string(bound[1].view())
                      : std::string(size_t(std::clamp<int64_t>(bound.integer(1), 0, 1000)), ' ');
    form.betweenItems = ",";
  }
  if (bound.has(2) && !bound[2].isNone()) {
    const std::vector<Value> both = iterate(heap, bound[2]);
    if (both.size() != 2)
      fail("the separators of tojson are two strings");
    form.betweenItems = separator(both[0]);
    form.afterKey = separator(both[1]);
  }
  Text text;
  appendJson(heap, text, value, form);
  return makeString(heap, std::move(text));
}

} // namespace

std::span<const Filter> valueFilters() {
  static constexpr Filter all[] = {
      {"abs", absolute},      {"attr", attribute},          {"d", otherwise},
      {"default", otherwise}, {"filesizeformat", fileSize}, {"float", toFloat},
      {"int", toInteger},     {"round", roundFilter},       {"count", length},
      {"length", length},     {"string", toString},         {"pprint", prettyPrint},
      {"tojson", toJson},
  };
  return all;
}

} // namespace ingot::runtime::jinja
