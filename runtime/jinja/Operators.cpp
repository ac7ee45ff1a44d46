// SPDX-License-Identifier: Apache-2.0
// Operators of expressions, as Python has them.
#include "runtime/jinja/Operators.h"

#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Representation.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime::jinja {

namespace {

[[noreturn]] void unsupported(std::string_view symbol, const Value &left, const Value &right) {
  fail("unsupported operand types for " + std::string(symbol) + ": '" +
       std::string(typeName(left)) + "' and '" + std::string(typeName(right)) + "'");
}

[[noreturn]] void overflow() { fail("an integer has more than 64 bits"); }
[[noreturn]] void divisionByZero() { fail("division by zero"); }

int64_t floorDivided(int64_t left, int64_t right) {
  if (right == 0)
    divisionByZero();
  if (right == -1) {
    int64_t result = 0;
    if (__builtin_sub_overflow(int64_t(0), left, &result))
      overflow();
    return result;
  }
  const int64_t quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0));
}

int64_t floorRemainder(int64_t left, int64_t right) {
  if (right == 0)
    divisionByZero();
  if (right == -1)
    return 0;
  const int64_t rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double floorRemainder(double left, double right) {
  if (right == 0)
    divisionByZero();
  const double rest = std::fmod(left, right);
  if (rest == 0)
    return std::copysign(0.0, right);
  return (rest < 0) != (right < 0) ? rest + right : rest;
}

double floorDivided(double left, double right) {
  if (right == 0)
    divisionByZero();
  double quotient = (left - std::fmod(left, right)) / right;
  const double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0))
    quotient -= 1;
  if (quotient == 0)
    return std::copysign(0.0, left / right);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value power(const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger() && right.integer() >= 0) {
    int64_t result = 1, base = left.integer();
    for (uint64_t exponent = uint64_t(right.integer()); exponent > 0; exponent >>= 1) {
      if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
        overflow();
      if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
        overflow();
    }
    return Value(result);
  }
  const double base = left.number(), exponent = right.number();
  if (base == 0 && exponent < 0)
    divisionByZero();
  if (base < 0 && std::isfinite(exponent) && exponent != std::floor(exponent))
    fail("a power of a negative number with a fraction is not real");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent))
    fail("the result is too large");
  return Value(result);
}

Value integerOperation(char symbol, int64_t left, int64_t right) {
  int64_t result = 0;
  const bool overflows = symbol == '+'   ? __builtin_add_overflow(left, right, &result)
                         : symbol == '-' ? __builtin_sub_overflow(left, right, &result)
                                         : __builtin_mul_overflow(left, right, &result);
  if (overflows)
    overflow();
  return Value(result);
}

Value numberOperation(std::string_view symbol, const Value &left, const Value &right) {
  if (symbol == "**")
    return power(left, right);
  if (symbol == "/") {
    if (right.number() == 0)
      divisionByZero();
    return Value(left.number() / right.number());
  }
  if (left.isInteger() && right.isInteger()) {
    if (symbol == "//")
      return Value(floorDivided(left.integer(), right.integer()));
    if (symbol == "%")
      return Value(floorRemainder(left.integer(), right.integer()));
    return integerOperation(symbol[0], left.integer(), right.integer());
  }
  const double l = left.number(), r = right.number();
  if (symbol == "//")
    return Value(floorDivided(l, r));
  if (symbol == "%")
    return Value(floorRemainder(l, r));
  return Value(symbol == "+" ? l + r : symbol == "-" ? l - r : l * r);
}

/// A string or a list, `count` times.
Value repeated(Heap &heap, const Value &what, int64_t count) {
  const auto times = size_t(std::max<int64_t>(count, 0));
  const size_t length = what.isString() ? what.view().size() : what.items().size();
  if (length > 0 && times > (size_t(1) << 40) / length)
    heap.charge(size_t(1) << 40); // fails
  heap.charge(length * times * (what.isString() ? 1 : sizeof(Value)));
  if (what.isString()) {
    Text text;
    if (length > 0)
      for (size_t i = 0; i < times; ++i)
        text.append(what.string().text);
    return makeString(heap, std::move(text), what.string().isMarkup);
  }
  std::vector<Value> items;
  if (length > 0)
    for (size_t i = 0; i < times; ++i)
      items.insert(items.end(), what.items().begin(), what.items().end());
  return Value(what.kind(), heap.make<Sequence>(std::move(items)));
}

Value added(Heap &heap, const Value &left, const Value &right) {
  if (left.isString() && right.isString())
    return joined(heap, left, right);
  if (left.kind() == right.kind() && (left.is(Kind::List) || left.is(Kind::Tuple))) {
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return left.is(Kind::List) ? makeList(heap, std::move(items))
                               : makeTuple(heap, std::move(items));
  }
  if (left.isString())
    fail("can only concatenate str (not \"" + std::string(typeName(right)) + "\") to str");
  unsupported("+", left, right);
}

bool isRepeatable(const Value &value) {
  return value.isString() || value.is(Kind::List) || value.is(Kind::Tuple);
}

} // namespace

Value applyBinary(Interpreter &interpreter, std::string_view symbol, const Value &left,
                  const Value &right) {
  Heap &heap = interpreter.heap;
  if (left.isString() && symbol == "%")
    return percentFormat(interpreter, left, right);
  for (const Value *side : {&left, &right})
    if (side->isUndefined())
      side->undefined().fail();
  if (left.isNumber() && right.isNumber())
    return numberOperation(symbol, left, right);
  if (symbol == "+")
    return added(heap, left, right);
  if (symbol == "*" && isRepeatable(left) && right.isInteger())
    return repeated(heap, left, right.integer());
  if (symbol == "*" && isRepeatable(right) && left.isInteger())
    return repeated(heap, right, left.integer());
  unsupported(symbol, left, right);
}

bool applyComparison(Heap &heap, std::string_view symbol, const Value &left, const Value &right) {
  if (symbol == "==")
    return equal(heap, left, right);
  if (symbol == "!=")
    return !equal(heap, left, right);
  if (symbol == "in")
    return contains(heap, right, left);
  if (symbol == "not in")
    return !contains(heap, right, left);
  return ordered(heap, symbol, left, right);
}

Value negated(const Value &value) {
  if (value.isUndefined())
    value.undefined().fail();
  if (value.is(Kind::Float))
    return Value(-value.number());
  if (!value.isInteger())
    fail("bad operand type for unary -: '" + std::string(typeName(value)) + "'");
  return integerOperation('-', 0, value.integer());
}

Value unchanged(const Value &value) {
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isNumber())
    fail("bad operand type for unary +: '" + std::string(typeName(value)) + "'");
  return value.isInteger() ? Value(value.integer()) : value;
}

Text escapedHtml(Heap &heap, const Text &text) {
  Text out;
  const std::string_view bytes = text.view();
  size_t plain = 0;
  for (size_t at = bytes.find_first_of("&<>\"'"); at != bytes.npos;
       at = bytes.find_first_of("&<>\"'", at + 1)) {
    const char c = bytes[at];
    out.append(text, plain, at);
    out.append(c == '&'   ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '"' ? "&#34;"
                          : "&#39;",
               text.origin(at, at + 1));
    plain = at + 1;
  }
  out.append(text, plain, bytes.size());
  heap.charge(out.size());
  return out;
}

Text htmlOf(Heap &heap, const Value &value) {
  if (value.isString() && value.string().isMarkup)
    return value.string().text;
  return escapedHtml(heap, textOf(heap, value));
}

Value joined(Heap &heap, const Value &left, const Value &right) {
  const bool isMarkup = left.string().isMarkup || right.string().isMarkup;
  Text text = isMarkup ? htmlOf(heap, left) : left.string().text;
  if (isMarkup)
    text.append(htmlOf(heap, right));
  else
    text.append(right.string().text);
  return makeString(heap, std::move(text), isMarkup);
}

} // namespace ingot::runtime::jinja
