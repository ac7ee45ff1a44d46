// SPDX-License-Identifier: Apache-2.0
// Filters that take or change items one by one: map, select, unique, ...
#include "runtime/jinja/Access.h"
#include "runtime/jinja/AttributePath.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Methods.h"
#include "runtime/jinja/NumberText.h"

#include <algorithm>

namespace ingot::runtime::jinja {

/// The parts between `mark`.
static std::vector<std::string_view> partsOf(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(mark, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.npos)
      return parts;
    begin = end + 1;
  }
}

AttributePath::AttributePath(Interpreter &interpreter, const Value &path, const Value &otherwise)
    : interpreter(&interpreter), otherwise(otherwise) {
  if (path.isNone())
    return;
  if (!path.isString()) {
    parts.push_back(path);
    return;
  }
  for (const std::string_view part : partsOf(path.view(), '.')) {
    const bool isNumber = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    parts.push_back(isNumber ? Value(parseInteger(part).value_or(0))
                             : makeString(interpreter.heap, part));
  }
}

std::vector<AttributePath> AttributePath::several(Interpreter &interpreter, const Value &paths) {
  std::vector<AttributePath> all;
  if (!paths.isString())
    return {AttributePath(interpreter, paths)};
  for (const std::string_view path : partsOf(paths.view(), ','))
    all.emplace_back(interpreter, makeString(interpreter.heap, path));
  return all;
}

Value AttributePath::of(const Value &item) const {
  Value value = item;
  for (const Value &part : parts) {
    value = elementOf(*interpreter, value, part);
    if (value.isUndefined() && !otherwise.isNone())
      value = otherwise;
  }
  return value;
}

Value ignoringCase(Interpreter &interpreter, const Value &value) {
  return value.isString() ? findMethod(value, "lower")->run(interpreter, value, {}) : value;
}

namespace {

/// The arguments without the first `count` by place.
Arguments behind(const Arguments &arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + ptrdiff_t(count));
  return rest;
}

std::string_view nameOf(const Value &value, std::string_view what) {
  if (!value.isString())
    fail("the name of a " + std::string(what) + " must be a string, not " +
         std::string(typeName(value)));
  return value.view();
}

std::vector<Value> mapByAttribute(Interpreter &interpreter, const Value &value,
                                  const Arguments &arguments) {
  for (const auto &[name, held] : arguments.keywords)
    if (name != "attribute" && name != "default")
      fail("map() has no parameter '" + name + "'");
  const Value *otherwise = arguments.keyword("default");
  const AttributePath path(interpreter, *arguments.keyword("attribute"),
                           otherwise ? *otherwise : Value());
  std::vector<Value> mapped = iterate(interpreter.heap, value);
  for (Value &item : mapped)
    item = path.of(item);
  return mapped;
}

Value map(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  return makeGenerator(interpreter.heap, [&interpreter, value, arguments] {
    if (!isTrue(value))
      return std::vector<Value>();
    if (arguments.positional.empty() && arguments.keyword("attribute"))
      return mapByAttribute(interpreter, value, arguments);
    if (arguments.positional.empty())
      fail("map requires a filter argument");
    const std::string_view name = nameOf(arguments.positional[0], "filter");
    const Arguments rest = behind(arguments, 1);
    std::vector<Value> mapped = iterate(interpreter.heap, value);
    for (Value &item : mapped)
      item = interpreter.filter(name, item, rest);
    return mapped;
  });
}

/// select, reject, selectattr and rejectattr.
template <bool isRejecting, bool byAttribute>
Value select(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  return makeGenerator(interpreter.heap, [&interpreter, value, arguments] {
    std::vector<Value> chosen;
    if (!isTrue(value))
      return chosen;
    const std::vector<Value> &given = arguments.positional;
    constexpr size_t skipped = byAttribute ? 1 : 0;
    if (given.size() < skipped)
      fail("Missing parameter for attribute name");
    const AttributePath path(interpreter, byAttribute ? given[0] : Value());
    const bool hasTest = given.size() > skipped;
    const Arguments rest = behind(arguments, hasTest ? skipped + 1 : skipped);
    for (const Value &item : iterate(interpreter.heap, value)) {
      const Value subject = path.of(item);
      const bool holds = hasTest ? interpreter.test(nameOf(given[skipped], "test"), subject, rest)
                                 : isTrue(subject);
      interpreter.heap.step();
      if (holds != isRejecting)
        chosen.push_back(item);
    }
    return chosen;
  });
}

Value unique(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const bool isSensitive = bound.truth(0, false);
  const Value attribute = bound[1];
  return makeGenerator(interpreter.heap, [&interpreter, value, isSensitive, attribute] {
    const AttributePath path(interpreter, attribute);
    auto *seen = interpreter.heap.make<Dict>();
    std::vector<Value> first;
    for (const Value &item : iterate(interpreter.heap, value)) {
      const Value found = path.of(item);
      const Value key = isSensitive ? found : ignoringCase(interpreter, found);
      if (seen->find(interpreter.heap, key))
        continue;
      seen->set(interpreter.heap, key, Value(true));
      first.push_back(item);
    }
    return first;
  });
}

} // namespace

std::span<const Filter> selectingFilters() {
  static constexpr Filter all[] = {
      {"map", map},
      {"reject", select<true, false>},
      {"rejectattr", select<true, true>},
      {"select", select<false, false>},
      {"selectattr", select<false, true>},
      {"unique", unique},
  };
  return all;
}

} // namespace ingot::runtime::jinja
