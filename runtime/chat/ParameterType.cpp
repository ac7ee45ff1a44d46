// SPDX-License-Identifier: Apache-2.0
// Types are sets, so that alternatives of a schema are unions.
#include "runtime/chat/ParameterType.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest = 8;       // references and alternatives in each other
constexpr int mostSchemas = 256; // looked at for one parameter

uint8_t named(std::string_view type) {
  if (type == "string")
    return JsonString;
  if (type == "integer")
    return JsonInteger;
  if (type == "number")
    return JsonNumber | JsonInteger;
  if (type == "boolean")
    return JsonBoolean;
  if (type == "object")
    return JsonObject;
  if (type == "array")
    return JsonArray;
  return type == "null" ? JsonNull : 0;
}

uint8_t typeOf(const Json &value) {
  switch (value.type()) {
  case Json::value_t::string:
    return JsonString;
  case Json::value_t::boolean:
    return JsonBoolean;
  case Json::value_t::object:
    return JsonObject;
  case Json::value_t::array:
    return JsonArray;
  case Json::value_t::null:
    return JsonNull;
  case Json::value_t::number_float:
    return JsonNumber | JsonInteger;
  default:
    return JsonInteger;
  }
}

/// Collects the types that the parts of a schema allow.
class TypeReader {
public:
  explicit TypeReader(const Json &root) : root(root) {}

  /// An empty set where the schema says nothing.
  uint8_t read(const Json &schema, int depth = 0) {
    if (!schema.is_object() || depth == deepest || ++schemas > mostSchemas)
      return 0;
    uint8_t types = 0;
    if (const auto type = schema.find("type"); type != schema.end()) {
      if (type->is_string())
        types |= named(type->get_ref<const std::string &>());
      else if (type->is_array())
        for (const Json &one : *type)
          types |= one.is_string() ? named(one.get_ref<const std::string &>()) : 0;
    }
    if (types == 0) {
      if (const auto value = schema.find("const"); value != schema.end())
        types |= typeOf(*value);
      if (const auto values = schema.find("enum"); values != schema.end() && values->is_array())
        for (const Json &value : *values)
          types |= typeOf(value);
    }
    if (const auto nullable = schema.find("nullable"); nullable != schema.end() && types != 0)
      types |= *nullable == true ? JsonNull : 0;
    for (const char *key : {"anyOf", "oneOf", "allOf"})
      if (const auto parts = schema.find(key); parts != schema.end() && parts->is_array())
        for (const Json &part : *parts)
          types |= read(part, depth + 1);
    if (const auto reference = schema.find("$ref");
        reference != schema.end() && reference->is_string())
      types |= follow(reference->get_ref<const std::string &>(), depth);
    return types;
  }

private:
  uint8_t follow(const std::string &reference, int depth) {
    if (!reference.starts_with("#/"))
      return 0;
    const Json *at = &root;
    for (size_t begin = 2; begin <= reference.size();) {
      const size_t end = std::min(reference.find('/', begin), reference.size());
      if (!at->is_object())
        return 0;
      const auto next = at->find(reference.substr(begin, end - begin));
      if (next == at->end())
        return 0;
      at = &*next;
      begin = end + 1;
    }
    return read(*at, depth + 1);
  }

  const Json &root;
  int schemas = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

std::optional<std::string> literal(std::string_view text, Notation notation, uint8_t types) {
  using Result = LiteralScanner::Result;
  LiteralScanner scanner(notation);
  std::string json;
  Result result = Result::More;
  size_t at = 0;
  while (at < text.size() && result == Result::More)
    result = scanner.feed(text[at++], json);
  if (result == Result::More)
    result = scanner.finish(json);
  if (result != Result::Done || at != text.size() || !(scanner.type() & types))
    return std::nullopt;
  return json;
}

} // namespace

uint8_t parameterTypes(const Json &schema, std::string_view name) {
  TypeReader reader(schema);
  uint8_t types = 0;
  if (!schema.is_object())
    return AnyJson;
  const auto properties = schema.find("properties");
  const Json *own = nullptr;
  if (properties != schema.end() && properties->is_object())
    if (const auto found = properties->find(std::string(name)); found != properties->end())
      own = &*found;
  if (own)
    types = reader.read(*own);
  else if (const auto others = schema.find("additionalProperties"); others != schema.end())
    types = reader.read(*others);
  return types ? types : AnyJson;
}

std::string typedValue(std::string_view text, uint8_t types) {
  // A string is written without quotes: with them, these are a part of it.
  const uint8_t others = types & static_cast<uint8_t>(~JsonString);
  for (const Notation notation : {Notation::Json, Notation::Python})
    if (std::optional<std::string> json = literal(trimmed(text), notation, others))
      return *json;
  // A whole number that is written with a fraction, say, is still a number.
  if (!(types & JsonString) && (types & JsonInteger))
    if (std::optional<std::string> json = literal(trimmed(text), Notation::Json, JsonNumber))
      return *json;
  std::string json = "\"";
  appendEscaped(text, json);
  return json + '"';
}

} // namespace ingot::runtime
