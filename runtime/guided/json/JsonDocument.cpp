// SPDX-License-Identifier: Apache-2.0
// Reads documents event by event, so that limits hold before anything is nested.
#include "runtime/guided/json/JsonDocument.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ingot::runtime::guided {

using Events = nlohmann::json_sax<nlohmann::json>;

/// Builds the document; `what` says why it stopped.
class JsonReader : public Events {
public:
  JsonReader(JsonDocument &document, const JsonLimits &limits)
      : document(document), limits(limits) {}

  std::string what;

  bool null() override { return add(JsonValue::Kind::Null) != noJson; }
  bool boolean(bool value) override {
    return add(value ? JsonValue::Kind::True : JsonValue::Kind::False) != noJson;
  }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
  bool number_float(number_float_t, const string_t &text) override { return number(text); }
  bool string(string_t &value) override {
    JsonId id = add(JsonValue::Kind::String);
    if (id == noJson)
      return false;
    document.values[id].text = std::move(value);
    return true;
  }
  bool binary(binary_t &) override { return false; }
  bool start_object(size_t) override { return open(JsonValue::Kind::Object); }
  bool start_array(size_t) override { return open(JsonValue::Kind::Array); }
  bool key(string_t &name) override {
    document.values[nested.back()].members.push_back({std::move(name), noJson});
    return true;
  }
  bool end_object() override {
    JsonId id = nested.back();
    nested.pop_back();
    return namesAreUnique(id);
  }
  bool end_array() override {
    nested.pop_back();
    return true;
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override {
    what = error.id == 406 ? "a number is too large for a double"
                           : "it is no JSON at byte " + std::to_string(position);
    return false;
  }

private:
  JsonId add(JsonValue::Kind kind) {
    if (document.values.size() >= limits.values) {
      what = "it has more than " + std::to_string(limits.values) + " values";
      return noJson;
    }
    JsonId id = JsonId(document.values.size());
    JsonValue &value = document.values.emplace_back();
    value.kind = kind;
    if (nested.empty())
      return id;
    value.parent = nested.back();
    JsonValue &parent = document.values[nested.back()];
    if (parent.kind == JsonValue::Kind::Array) {
      value.place = uint32_t(parent.items.size());
      parent.items.push_back(id);
    } else {
      value.place = uint32_t(parent.members.size() - 1);
      parent.members.back().value = id;
    }
    return id;
  }

  bool open(JsonValue::Kind kind) {
    if (nested.size() >= limits.depth) {
      what = "it has more than " + std::to_string(limits.depth) + " levels";
      return false;
    }
    JsonId id = add(kind);
    if (id == noJson)
      return false;
    nested.push_back(id);
    return true;
  }

  bool number(const std::string &text) {
    JsonId id = add(JsonValue::Kind::Number);
    if (id == noJson)
      return false;
    std::optional<Decimal> value = Decimal::parse(text);
    if (!value) {
      what = "the number at " + document.pointer(id) + " is too long";
      return false;
    }
    document.values[id].number = std::move(*value);
    return true;
  }

  bool namesAreUnique(JsonId id) {
    std::vector<std::string_view> names;
    for (const JsonMember &member : document.values[id].members)
      names.push_back(member.name);
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end())
      return true;
    what = "the object at " + document.pointer(id) + " has the name '" + std::string(*twice) +
           "' twice";
    return false;
  }

  JsonDocument &document;
  const JsonLimits &limits;
  std::vector<JsonId> nested; ///< containers that are open
};

Result<JsonDocument> JsonDocument::read(std::string_view text, const JsonLimits &limits) {
  JsonDocument document;
  JsonReader reader(document, limits);
  if (text.size() > limits.bytes)
    reader.what = "it has more than " + std::to_string(limits.bytes) + " bytes";
  else
    nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  if (!reader.what.empty() || document.values.empty())
    return Status::error("INGOT-E6610", "the schema cannot be read: " + reader.what);
  return document;
}

JsonId JsonDocument::member(JsonId object, std::string_view name) const {
  for (const JsonMember &member : values[object].members)
    if (member.name == name)
      return member.value;
  return noJson;
}

std::string JsonDocument::pointer(JsonId id) const {
  std::vector<std::string> steps;
  for (; values[id].parent != noJson; id = values[id].parent) {
    const JsonValue &parent = values[values[id].parent];
    if (parent.kind == JsonValue::Kind::Array) {
      steps.push_back(std::to_string(values[id].place));
      continue;
    }
    std::string &step = steps.emplace_back();
    for (char c : parent.members[values[id].place].name)
      step += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  }
  std::string result = "#";
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    result += "/" + *step;
  return result;
}

} // namespace ingot::runtime::guided
