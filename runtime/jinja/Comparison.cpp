// SPDX-License-Identifier: Apache-2.0
// Truth, equality, order and hashes of values, as Python has them.
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Search.h"

#include <cmath>

namespace ingot::runtime::jinja {

bool isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Int:
    return value.integer() != 0;
  case Kind::Float:
    return value.number() != 0;
  case Kind::Generator:
  case Kind::Object:
    return true;
  default:
    return *lengthOf(value) != 0;
  }
}

/// Less than, equal or greater: -1, 0, 1; 2 where a NaN is in it. Exact across kinds.
static int compareNumbers(const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger())
    return left.integer() < right.integer() ? -1 : left.integer() > right.integer();
  const double l = left.number(), r = right.number();
  if (std::isnan(l) || std::isnan(r))
    return 2;
  if (left.is(Kind::Float) && right.is(Kind::Float))
    return l < r ? -1 : l > r;
  // An integer with a float: as integers where the float is within their range.
  const double real = left.is(Kind::Float) ? l : r;
  const int64_t whole = left.is(Kind::Float) ? right.integer() : left.integer();
  int order; // of the float against the integer
  if (real >= 0x1p63)
    order = 1;
  else if (real < -0x1p63)
    order = -1;
  else {
    const double down = std::floor(real);
    const auto floor = int64_t(down);
    order = floor < whole ? -1 : floor > whole ? 1 : real > down;
  }
  return left.is(Kind::Float) ? order : -order;
}

static bool equalDicts(Heap &heap, const Dict &left, const Dict &right) {
  if (left.entries.size() != right.entries.size())
    return false;
  for (const auto &[key, value] : left.entries) {
    const Value *other = right.find(heap, key);
    if (!other || !equal(heap, value, *other))
      return false;
  }
  return true;
}

static bool equalItems(Heap &heap, const std::vector<Value> &left,
                       const std::vector<Value> &right) {
  if (left.size() != right.size())
    return false;
  for (size_t i = 0; i < left.size(); ++i)
    if (!equal(heap, left[i], right[i]))
      return false;
  return true;
}

bool equal(Heap &heap, const Value &left, const Value &right) {
  heap.step();
  if (left.isNumber() && right.isNumber())
    return compareNumbers(left, right) == 0;
  if (left.kind() != right.kind())
    return false;
  if (left.same(right))
    return true;
  const Heap::Level level(heap);
  switch (left.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    heap.step(left.view().size() / 64);
    return left.view() == right.view();
  case Kind::List:
  case Kind::Tuple:
  case Kind::Range:
    return equalItems(heap, left.items(), right.items());
  case Kind::Dict:
    return equalDicts(heap, left.dict(), right.dict());
  default:
    return false;
  }
}

static bool holds(std::string_view symbol, int order) {
  if (symbol == "<")
    return order < 0;
  if (symbol == "<=")
    return order <= 0;
  if (symbol == ">")
    return order == 1;
  return order == 0 || order == 1;
}

bool ordered(Heap &heap, std::string_view symbol, const Value &left, const Value &right) {
  heap.step();
  for (const Value *side : {&left, &right})
    if (side->isUndefined())
      side->undefined().fail();
  if (left.isNumber() && right.isNumber()) {
    const int order = compareNumbers(left, right);
    return order != 2 && holds(symbol, order);
  }
  if (left.isString() && right.isString()) {
    heap.step(left.view().size() / 64);
    const int order = left.view().compare(right.view());
    return holds(symbol, order < 0 ? -1 : order > 0);
  }
  if (left.kind() == right.kind() && (left.is(Kind::List) || left.is(Kind::Tuple))) {
    const Heap::Level level(heap);
    const auto &l = left.items(), &r = right.items();
    for (size_t i = 0; i < l.size() && i < r.size(); ++i)
      if (!equal(heap, l[i], r[i]))
        return ordered(heap, symbol, l[i], r[i]);
    return holds(symbol, l.size() < r.size() ? -1 : l.size() > r.size());
  }
  fail("'" + std::string(symbol) + "' not supported between instances of '" +
       std::string(typeName(left)) + "' and '" + std::string(typeName(right)) + "'");
}

bool contains(Heap &heap, const Value &container, const Value &item) {
  if (container.isString()) {
    if (!item.isString())
      fail("'in <string>' requires string as left operand, not " + std::string(typeName(item)));
    heap.step(container.view().size() / 16);
    return findFirst(container.view(), item.view()) != std::string_view::npos;
  }
  if (container.isDict())
    return container.dict().find(heap, item) != nullptr;
  if (!isIterable(container))
    fail("argument of type '" + std::string(typeName(container)) + "' is not iterable");
  if (container.is(Kind::Generator)) {
    while (const std::optional<Value> next = container.generator().next())
      if (equal(heap, *next, item))
        return true;
    return false;
  }
  if (container.isUndefined())
    return false;
  for (const Value &each : container.items())
    if (each.same(item) || equal(heap, each, item))
      return true;
  return false;
}

bool isHashable(const Value &value) {
  return !value.is(Kind::List) && !value.isDict() && !value.is(Kind::View);
}

size_t hashOf(std::string_view text) { return std::hash<std::string_view>()(text); }

size_t hashOf(Heap &heap, const Value &value) {
  heap.step();
  if (!isHashable(value))
    fail("unhashable type: '" + std::string(typeName(value)) + "'");
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return size_t(value.kind());
  case Kind::Bool:
  case Kind::Int:
    return std::hash<double>()(double(value.integer()));
  case Kind::Float:
    return std::hash<double>()(value.number());
  case Kind::String:
    heap.step(value.view().size() / 64);
    return hashOf(value.view());
  case Kind::Tuple:
  case Kind::Range: {
    const Heap::Level level(heap);
    size_t hash = 17;
    for (const Value &item : value.items())
      hash = hash * 1099511628211u + hashOf(heap, item);
    return hash;
  }
  default:
    return size_t(value.integer());
  }
}

} // namespace ingot::runtime::jinja
