// SPDX-License-Identifier: Apache-2.0
// Tests: what stands behind `is`. All those of Jinja.
#include "runtime/jinja/Tests.h"

#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Methods.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"

namespace ingot::runtime::jinja {

namespace {

void takeNone(Interpreter &interpreter, const Arguments &arguments) {
  const Bound none("a test", arguments, {});
}

/// A test of the value's kind alone.
template <auto isOfKind>
bool kindTest(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  return isOfKind(value);
}

bool isDefined(const Value &value) { return !value.isUndefined(); }
bool isUndefined(const Value &value) { return value.isUndefined(); }
bool isNone(const Value &value) { return value.isNone(); }
bool isBoolean(const Value &value) { return value.is(Kind::Bool); }
bool isTrueItself(const Value &value) { return value.isBool(true); }
bool isFalseItself(const Value &value) { return value.isBool(false); }
bool isIntegerItself(const Value &value) { return value.is(Kind::Int); }
bool isFloat(const Value &value) { return value.is(Kind::Float); }
bool isNumber(const Value &value) { return value.isNumber(); }
bool isString(const Value &value) { return value.isString(); }
bool isMapping(const Value &value) { return value.isDict(); }
bool isEscaped(const Value &value) { return value.isString() && value.string().isMarkup; }
bool isCallableValue(const Value &value) {
  // Undefined has a __call__ that fails.
  return value.isUndefined() || (value.is(Kind::Object) && value.object().isCallable());
}
bool isSequence(const Value &value) {
  return value.isUndefined() || (lengthOf(value).has_value() && !value.is(Kind::View));
}
bool isIterableValue(const Value &value) { return isIterable(value); }

Value remainder(Interpreter &interpreter, const Value &value, const Value &divisor) {
  return applyBinary(interpreter, "%", value, divisor);
}

bool odd(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  return equal(interpreter.heap, remainder(interpreter, value, Value(int64_t(2))),
               Value(int64_t(1)));
}

bool even(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  return equal(interpreter.heap, remainder(interpreter, value, Value(int64_t(2))),
               Value(int64_t(0)));
}

bool divisibleBy(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("divisibleby", arguments, {"num"}, 1);
  return equal(interpreter.heap, remainder(interpreter, value, bound[0]), Value(int64_t(0)));
}

/// islower() or isupper() of the value's text.
bool caseTest(Interpreter &interpreter, const Value &value, std::string_view method) {
  const Value text = makeString(interpreter.heap, textOf(interpreter.heap, value));
  return isTrue(findMethod(text, method)->run(interpreter, text, {}));
}

bool lower(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  return caseTest(interpreter, value, "islower");
}

bool upper(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  return caseTest(interpreter, value, "isupper");
}

bool filterExists(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  hashOf(interpreter.heap, value); // fails where it cannot be a key
  return value.isString() && findFilter(value.view()) != nullptr;
}

bool testExists(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  takeNone(interpreter, arguments);
  hashOf(interpreter.heap, value);
  return value.isString() && findTest(value.view()) != nullptr;
}

bool sameAs(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("sameas", arguments, {"other"}, 1);
  return value.same(bound[0]);
}

bool in(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("in", arguments, {"seq"}, 1);
  return contains(interpreter.heap, bound[0], value);
}

template <const char *symbol>
bool compare(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound(symbol, arguments, {"other"}, 1);
  return applyComparison(interpreter.heap, symbol, value, bound[0]);
}

constexpr char equalSign[] = "==", unequal[] = "!=", lessSign[] = "<",
               lessEqual[] = "<=", greater[] = ">", greaterEqual[] = ">=";

struct NamedTest {
  std::string_view name;
  TestFunction test;
};

constexpr NamedTest all[] = {
    {"odd", odd},
    {"even", even},
    {"divisibleby", divisibleBy},
    {"defined", kindTest<isDefined>},
    {"undefined", kindTest<isUndefined>},
    {"filter", filterExists},
    {"test", testExists},
    {"none", kindTest<isNone>},
    {"boolean", kindTest<isBoolean>},
    {"false", kindTest<isFalseItself>},
    {"true", kindTest<isTrueItself>},
    {"integer", kindTest<isIntegerItself>},
    {"float", kindTest<isFloat>},
    {"lower", lower},
    {"upper", upper},
    {"string", kindTest<isString>},
    {"mapping", kindTest<isMapping>},
    {"number", kindTest<isNumber>},
    {"sequence", kindTest<isSequence>},
    {"iterable", kindTest<isIterableValue>},
    {"callable", kindTest<isCallableValue>},
    {"sameas", sameAs},
    {"escaped", kindTest<isEscaped>},
    {"in", in},
    {"==", compare<equalSign>},
    {"eq", compare<equalSign>},
    {"equalto", compare<equalSign>},
    {"!=", compare<unequal>},
    {"ne", compare<unequal>},
    {">", compare<greater>},
    {"gt", compare<greater>},
    {"greaterthan", compare<greater>},
    {">=", compare<greaterEqual>},
    {"ge", compare<greaterEqual>},
    {"<", compare<lessSign>},
    {"lt", compare<lessSign>},
    {"lessthan", compare<lessSign>},
    {"<=", compare<lessEqual>},
    {"le", compare<lessEqual>},
};

} // namespace

TestFunction findTest(std::string_view name) {
  for (const NamedTest &test : all)
    if (test.name == name)
      return test.test;
  return nullptr;
}

} // namespace ingot::runtime::jinja
