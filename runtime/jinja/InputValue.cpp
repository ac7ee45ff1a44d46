// SPDX-License-Identifier: Apache-2.0
// Values of JSON: what a template is given.
#include "runtime/jinja/InputValue.h"

#include "runtime/jinja/Interpreter.h"
#include "runtime/serving/Unicode.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime::jinja {

using Json = nlohmann::ordered_json;

constexpr std::string_view variablesCode = "INGOT-E6070";

namespace {

Value stringOf(Heap &heap, Text text) {
  if (validUtf8Prefix(text.view()) != text.size())
    throw Failure{variablesCode, "a string that the template is given is not UTF-8",
                  "convert it to UTF-8"};
  return makeString(heap, std::move(text));
}

/// Makes values, and gives strings their addresses.
class InputReader {
public:
  explicit InputReader(Heap &heap) : heap(heap) {}

  Value valueOf(const Json &json, bool isInput);

  std::vector<InputString> strings;

private:
  Value inputOf(const std::string &text) {
    strings.push_back({&text, end});
    Text input = Text::ofInput(text, end);
    // One address is left out, so that no piece is of two strings. The heap, which is charged for
    // them, is smaller than what addresses can tell.
    end += uint32_t(text.size()) + 1;
    return stringOf(heap, std::move(input));
  }

  Heap &heap;
  uint32_t end = 1; ///< of the addresses that are taken
};

Value InputReader::valueOf(const Json &json, bool isInput) {
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
  case Json::value_t::string: {
    const auto &text = json.get_ref<const std::string &>();
    return isInput ? inputOf(text) : stringOf(heap, Text(text));
  }
  case Json::value_t::array: {
    std::vector<Value> items;
    items.reserve(json.size());
    heap.charge(json.size() * sizeof(Value));
    for (const Json &item : json)
      items.push_back(valueOf(item, true));
    return Value(Kind::List, heap.make<Sequence>(std::move(items), true));
  }
  case Json::value_t::object: {
    auto *dict = heap.make<Dict>();
    dict->isInput = true;
    for (const auto &[key, item] : json.items()) {
      const Value name = inputOf(key);
      dict->set(heap, name, valueOf(item, true));
    }
    return Value(dict);
  }
  default:
    return Value();
  }
}

} // namespace

std::vector<InputString> defineVariables(Interpreter &interpreter, const Json &variables) {
  if (!variables.is_object())
    throw Failure{variablesCode, "the variables of a template are no JSON object",
                  "give an object"};
  InputReader reader(interpreter.heap);
  for (const auto &[name, json] : variables.items()) {
    const auto symbol = interpreter.tree.symbols.find(name);
    if (symbol != interpreter.tree.symbols.end())
      interpreter.define(symbol->second, reader.valueOf(json, false));
  }
  return std::move(reader.strings);
}

} // namespace ingot::runtime::jinja
