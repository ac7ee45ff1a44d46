// SPDX-License-Identifier: Apache-2.0
// Reading members with a remembered first error.
#include "compiler/checkpoint/files/JsonFields.h"

namespace ingot::checkpoint {

JsonFields::JsonFields(Json object) : object(std::move(object)) {
  if (!this->object.isObject())
    firstError = this->object.wrongType("an object");
}

std::optional<Json> JsonFields::given(std::string_view key) const {
  askedKeys.emplace(key);
  auto member = object.find(key);
  return member && !member->isNull() ? member : std::nullopt;
}

bool JsonFields::has(std::string_view key) const { return given(key).has_value(); }

bool JsonFields::isNull(std::string_view key) const {
  auto member = object.find(key);
  return member && member->isNull();
}

bool JsonFields::isText(std::string_view key, std::string_view text) const {
  const auto value = given(key);
  return value && value->isString() && *value->string() == text;
}

bool JsonFields::isOff(std::string_view key) const {
  const auto value = given(key);
  if (!value)
    return true;
  if (value->isNumber())
    return static_cast<bool>(value->number(0, 0));
  if (value->isBoolean())
    return !*value->boolean();
  return value->isString() ? value->string()->empty() : value->size() == 0;
}

/// Of a list.
static constexpr size_t mostElements = 4096;

template <class T> T JsonFields::keep(Expected<T> value, T fallback) {
  if (firstError)
    return fallback;
  if (value)
    return *std::move(value);
  firstError = value.error();
  return fallback;
}

uint64_t JsonFields::unsignedInteger(std::string_view key, uint64_t least, uint64_t most) {
  askedKeys.emplace(key);
  auto member = object.at(key);
  return keep(member ? member->unsignedInteger(least, most) : Expected<uint64_t>(member.error()),
              least);
}

uint64_t JsonFields::unsignedIntegerOr(std::string_view key, uint64_t fallback, uint64_t least,
                                       uint64_t most) {
  auto member = given(key);
  return member ? keep(member->unsignedInteger(least, most), fallback) : fallback;
}

double JsonFields::number(std::string_view key, double least, double most) {
  askedKeys.emplace(key);
  auto member = object.at(key);
  return keep(member ? member->number(least, most) : Expected<double>(member.error()), least);
}

double JsonFields::numberOr(std::string_view key, double fallback, double least, double most) {
  auto member = given(key);
  return member ? keep(member->number(least, most), fallback) : fallback;
}

bool JsonFields::booleanOr(std::string_view key, bool fallback) {
  auto member = given(key);
  return member ? keep(member->boolean(), fallback) : fallback;
}

std::string JsonFields::stringOr(std::string_view key, std::string fallback) {
  auto member = given(key);
  return member ? keep(member->string(), fallback) : fallback;
}

template <class T>
std::optional<std::vector<T>> JsonFields::listed(std::string_view key, T least, T most,
                                                 Expected<T> (Json::*read)(T, T) const) {
  auto member = given(key);
  if (!member)
    return std::nullopt;
  std::vector<T> values;
  if (!member->isArray()) {
    values.push_back(keep(((*member).*read)(least, most), least));
    return values;
  }
  if (member->size() > mostElements)
    fail(key, "INGOT-E1006",
         message("a list of ", member->size(), " numbers; at most ", mostElements),
         "shorten the list");
  for (size_t i = 0; i < member->size() && !firstError; ++i)
    values.push_back(keep((member->element(i).*read)(least, most), least));
  return values;
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view key) {
  auto member = given(key);
  if (!member)
    return std::nullopt;
  std::vector<std::string> values;
  if (!member->isArray() || member->size() > mostElements)
    fail(key, "INGOT-E1006", "this is no list of texts, or a very long one", "correct it");
  for (size_t i = 0; member->isArray() && i < member->size() && !firstError; ++i)
    values.push_back(keep(member->element(i).string(), std::string()));
  return values;
}

std::optional<std::vector<uint64_t>> JsonFields::unsignedIntegers(std::string_view key,
                                                                  uint64_t least, uint64_t most) {
  return listed<uint64_t>(key, least, most, &Json::unsignedInteger);
}

std::optional<std::vector<double>> JsonFields::numbers(std::string_view key, double least,
                                                       double most) {
  return listed<double>(key, least, most, &Json::number);
}

void JsonFields::fail(std::string_view key, std::string code, std::string what, std::string fix) {
  if (firstError)
    return;
  auto member = object.find(key);
  firstError = (member ? *member : object).error(std::move(code), std::move(what), std::move(fix));
}

} // namespace ingot::checkpoint
