// SPDX-License-Identifier: Apache-2.0
// Values of JSON: what a template is given.
#include "runtime/jinja/InputValue.h"

#include "runtime/jinja/Interpreter.h"
#include "runtime/serving/Unicode.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime::jinja {

using Json = nlohmann::ordered_json;

constexpr std::string_view variablesCode = "INGOT-E6070";

static Value stringOf(Heap &heap, const std::string &text, bool isInput) {
  if (validUtf8Prefix(text) != text.size())
    throw Failure{variablesCode, "a string that the template is given is not UTF-8",
                  "convert it to UTF-8"};
  return makeString(heap, Text(text, isInput));
}

static Value valueOf(Heap &heap, const Json &json, bool isInput) {
  const Heap::Level level(heap);
  heap.step();
  switch (json.type()) {
  case Json::value_t::boolean:
    return Value(json.get<bool>());
  case Json::value_t::number_integer:
    return Value(json.get<int64_t>());
  case Json::value_t::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(INT64_MAX))
      return Value(json.get<double>());
    return Value(json.get<int64_t>());
  case Json::value_t::number_float:
    return Value(json.get<double>());
  case Json::value_t::string:
    return stringOf(heap, json.get_ref<const std::string &>(), isInput);
  case Json::value_t::array: {
    std::vector<Value> items;
    items.reserve(json.size());
    heap.charge(json.size() * sizeof(Value));
    for (const Json &item : json)
      items.push_back(valueOf(heap, item, true));
    return Value(Kind::List, heap.make<Sequence>(std::move(items), true));
  }
  case Json::value_t::object: {
    auto *dict = heap.make<Dict>();
    dict->isInput = true;
    for (const auto &[key, item] : json.items())
      dict->set(heap, stringOf(heap, key, true), valueOf(heap, item, true));
    return Value(dict);
  }
  default:
    return Value();
  }
}

void defineVariables(Interpreter &interpreter, const Json &variables) {
  if (!variables.is_object())
    throw Failure{variablesCode, "the variables of a template are no JSON object",
                  "give an object"};
  for (const auto &[name, json] : variables.items()) {
    const auto symbol = interpreter.tree.symbols.find(name);
    if (symbol != interpreter.tree.symbols.end())
      interpreter.define(symbol->second, valueOf(interpreter.heap, json, false));
  }
}

} // namespace ingot::runtime::jinja
