// SPDX-License-Identifier: Apache-2.0
// Methods of lists, dicts and numbers, and how methods are found.
#include "runtime/jinja/Methods.h"

#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Globals.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Representation.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ingot::runtime::jinja {

namespace {

struct BoundMethod : Object {
  BoundMethod(const Value &self, const Method &method) : self(self), method(method) {}
  std::string_view typeName() const override { return "builtin_function_or_method"; }
  bool isCallable() const override { return true; }
  Value call(Interpreter &interpreter, const Arguments &arguments) override {
    return method.run(interpreter, self, arguments);
  }
  std::string represent() const override {
    return "<built-in method " + std::string(method.name) + " of " +
           std::string(jinja::typeName(self)) + " object>";
  }
  const Value self;
  const Method &method;
};

/// keys(), values() or items() of a dict.
Value makeView(Interpreter &interpreter, const Value &self, std::string_view name,
               std::vector<Value> items) {
  interpreter.heap.charge(items.size() * sizeof(Value));
  auto *view = interpreter.heap.make<Sequence>(std::move(items), self.dict().isInput);
  view->viewName = name;
  return Value(Kind::View, view);
}

Value keys(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("keys", arguments, {});
  return makeView(interpreter, self, "dict_keys", iterate(interpreter.heap, self));
}

Value values(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("values", arguments, {});
  std::vector<Value> all;
  for (const auto &entry : self.dict().entries)
    all.push_back(entry.second);
  return makeView(interpreter, self, "dict_values", std::move(all));
}

Value items(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("items", arguments, {});
  std::vector<Value> all;
  for (const auto &[key, value] : self.dict().entries)
    all.push_back(makeTuple(interpreter.heap, {key, value}));
  return makeView(interpreter, self, "dict_items", std::move(all));
}

Value get(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  if (!arguments.keywords.empty())
    fail("get() takes no keyword arguments");
  const Bound bound("get", arguments, {"key", "default"}, 1);
  const Value *found = self.dict().find(interpreter.heap, bound[0]);
  return found ? *found : bound[1];
}

Value copy(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("copy", arguments, {});
  return self; // nothing changes it
}

Value fromKeys(Interpreter &interpreter, const Value &, const Arguments &arguments) {
  const Bound bound("fromkeys", arguments, {"iterable", "value"}, 1);
  auto *dict = interpreter.heap.make<Dict>();
  for (const Value &key : iterate(interpreter.heap, bound[0]))
    dict->set(interpreter.heap, key, bound[1]);
  return Value(dict);
}

Value countItems(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("count", arguments, {"value"}, 1);
  return Value(
      int64_t(std::count_if(self.items().begin(), self.items().end(), [&](const Value &item) {
        return equal(interpreter.heap, item, bound[0]);
      })));
}

Value indexOf(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("index", arguments, {"value", "start", "stop"}, 1);
  const auto length = int64_t(self.items().size());
  auto place = [&](int64_t index) {
    return index < 0 ? std::max<int64_t>(index + length, 0) : index;
  };
  const int64_t stop = std::min(place(bound.integer(2, length)), length);
  for (int64_t i = place(bound.integer(1, 0)); i < stop; ++i)
    if (equal(interpreter.heap, self.items()[size_t(i)], bound[0]))
      return Value(i);
  fail("the value is not in the " + std::string(typeName(self)));
}

Value bitLength(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("bit_length", arguments, {});
  const int64_t value = self.integer();
  return Value(int64_t(std::bit_width(value < 0 ? 0 - uint64_t(value) : uint64_t(value))));
}

Value isInteger(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("is_integer", arguments, {});
  return Value(std::isfinite(self.number()) && self.number() == std::floor(self.number()));
}

const Method *findIn(std::span<const Method> methods, std::string_view name) {
  for (const Method &method : methods)
    if (method.name == name)
      return &method;
  return nullptr;
}

} // namespace

std::span<const Method> dictMethods() {
  static constexpr Method all[] = {
      {"copy", copy},   {"fromkeys", fromKeys}, {"get", get},
      {"items", items}, {"keys", keys},         {"values", values},
  };
  return all;
}

std::span<const Method> listMethods() {
  // A tuple has no copy().
  static constexpr Method all[] = {{"copy", copy}, {"count", countItems}, {"index", indexOf}};
  return all;
}

std::span<const Method> numberMethods() {
  // Integers have the first, floats the second.
  static constexpr Method all[] = {{"bit_length", bitLength}, {"is_integer", isInteger}};
  return all;
}

const Method *findMethod(const Value &self, std::string_view name) {
  switch (self.kind()) {
  case Kind::String:
    for (const auto &table : {stringMethods(), splittingMethods(), characterTestMethods()})
      if (const Method *method = findIn(table, name))
        return method;
    return nullptr;
  case Kind::List:
    return findIn(listMethods(), name);
  case Kind::Tuple:
  case Kind::Range:
    return findIn(listMethods().subspan(1), name);
  case Kind::Dict:
    return findIn(dictMethods(), name);
  case Kind::Bool:
  case Kind::Int:
    return findIn(numberMethods().first(1), name);
  case Kind::Float:
    return findIn(numberMethods().last(1), name);
  default:
    return nullptr;
  }
}

bool isMutating(const Value &self, std::string_view name) {
  static constexpr std::string_view ofLists[] = {"append", "clear",  "extend",  "insert",
                                                 "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view ofDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (self.is(Kind::List))
    return std::ranges::find(ofLists, name) != std::end(ofLists);
  return self.isDict() && std::ranges::find(ofDicts, name) != std::end(ofDicts);
}

Value bindMethod(Heap &heap, const Value &self, const Method &method) {
  return Value(heap.make<BoundMethod>(self, method));
}

} // namespace ingot::runtime::jinja
