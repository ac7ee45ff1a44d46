// SPDX-License-Identifier: Apache-2.0
// Keywords of numbers and strings, and what the readings of all keywords share.
#include "runtime/guided/Characters.h"
#include "runtime/guided/RegexSyntax.h"
#include "runtime/guided/json/SchemaMeaning.h"
#include "runtime/guided/json/StringFormats.h"

#include <algorithm>

namespace ingot::runtime::guided {

using Kind = JsonValue::Kind;

bool SchemaMeaning::has(JsonId schema, std::string_view name) const {
  return document.member(schema, name) != noJson;
}

bool SchemaMeaning::isKind(JsonId value, JsonValue::Kind kind, std::string_view what) {
  if (document[value].kind == kind)
    return true;
  const JsonValue &parent = document[document[value].parent];
  std::string name =
      parent.kind == Kind::Object ? parent.members[document[value].place].name : "it";
  refuse(value, "'" + name + "' must be " + std::string(what));
  return false;
}

bool SchemaMeaning::countOf(JsonId value, uint64_t &count) {
  std::optional<uint64_t> whole;
  if (document[value].kind == Kind::Number)
    whole = document[value].number.count(noLimit - 1);
  if (!whole) {
    refuse(value, "a count must be a whole number from 0 to 10^18");
    return false;
  }
  count = *whole;
  return true;
}

bool SchemaMeaning::namesOf(JsonId value, std::vector<std::string> &names) {
  if (!isKind(value, Kind::Array, "an array of names"))
    return false;
  for (JsonId item : document[value].items) {
    if (document[item].kind != Kind::String) {
      refuse(item, "a name must be a string");
      return false;
    }
    names.push_back(document[item].text);
  }
  return true;
}

Shape SchemaMeaning::onlyNumbers(NumberSet set) const {
  Shape shape;
  if (holdsNumbers(set))
    shape.numbers.push_back(std::move(set));
  return shape;
}

Shape SchemaMeaning::onlyStrings(ExpressionId texts) const {
  Shape shape;
  shape.strings = texts;
  return shape;
}

Shape SchemaMeaning::onlyArrays(ArraySet set) const {
  Shape shape;
  if (settle(set))
    shape.arrays.push_back(std::move(set));
  return shape;
}

Shape SchemaMeaning::onlyObjects(ObjectSet set) const {
  Shape shape;
  if (settle(set))
    shape.objects.push_back(std::move(set));
  return shape;
}

Shape SchemaMeaning::withNumbers(NumberSet set) {
  Shape shape = any();
  shape.numbers = onlyNumbers(std::move(set)).numbers;
  return shape;
}

Shape SchemaMeaning::withStrings(ExpressionId texts) {
  Shape shape = any();
  shape.strings = texts;
  return shape;
}

Shape SchemaMeaning::withArrays(ArraySet set) {
  Shape shape = any();
  shape.arrays = onlyArrays(std::move(set)).arrays;
  return shape;
}

Shape SchemaMeaning::withObjects(ObjectSet set) {
  Shape shape = any();
  shape.objects = onlyObjects(std::move(set)).objects;
  return shape;
}

bool SchemaMeaning::bound(JsonId value, Decimal &number) {
  if (!isKind(value, Kind::Number, "a number"))
    return false;
  number = document[value].number;
  return true;
}

/// In draft 4 `exclusiveMinimum` is true or false, and says how `minimum` is read.
bool SchemaMeaning::isFlag(JsonId value) const { return draft <= 4 && document[value].isBoolean(); }

bool SchemaMeaning::isExclusive(JsonId schema, std::string_view name) const {
  const JsonId value = document.member(schema, name);
  return value != noJson && isFlag(value) && document[value].kind == Kind::True;
}

static NumberSet from(const Decimal &low, bool exclusive) {
  NumberSet set;
  set.low = low;
  set.lowExclusive = exclusive;
  return set;
}

static NumberSet upTo(const Decimal &high, bool exclusive) {
  NumberSet set;
  set.high = high;
  set.highExclusive = exclusive;
  return set;
}

Shape SchemaMeaning::numbersWithin(JsonId value, Side side, bool exclusive) {
  Decimal number;
  if (!bound(value, number))
    return nothing();
  return withNumbers(side == Side::Low ? from(number, exclusive) : upTo(number, exclusive));
}

Shape SchemaMeaning::numbersBeyond(JsonId value, Side side, bool exclusive) {
  Decimal number;
  if (!bound(value, number))
    return nothing();
  return onlyNumbers(side == Side::Low ? upTo(number, !exclusive) : from(number, !exclusive));
}

Shape SchemaMeaning::minimum(JsonId schema, JsonId value) {
  return numbersWithin(value, Side::Low, isExclusive(schema, "exclusiveMinimum"));
}

Shape SchemaMeaning::notMinimum(JsonId schema, JsonId value) {
  return numbersBeyond(value, Side::Low, isExclusive(schema, "exclusiveMinimum"));
}

Shape SchemaMeaning::maximum(JsonId schema, JsonId value) {
  return numbersWithin(value, Side::High, isExclusive(schema, "exclusiveMaximum"));
}

Shape SchemaMeaning::notMaximum(JsonId schema, JsonId value) {
  return numbersBeyond(value, Side::High, isExclusive(schema, "exclusiveMaximum"));
}

Shape SchemaMeaning::exclusiveMinimum(JsonId schema, JsonId value) {
  return isFlag(value) ? any() : numbersWithin(value, Side::Low, true);
}

Shape SchemaMeaning::notExclusiveMinimum(JsonId schema, JsonId value) {
  return isFlag(value) ? nothing() : numbersBeyond(value, Side::Low, true);
}

Shape SchemaMeaning::exclusiveMaximum(JsonId schema, JsonId value) {
  return isFlag(value) ? any() : numbersWithin(value, Side::High, true);
}

Shape SchemaMeaning::notExclusiveMaximum(JsonId schema, JsonId value) {
  return isFlag(value) ? nothing() : numbersBeyond(value, Side::High, true);
}

Shape SchemaMeaning::multipleOf(JsonId schema, JsonId value) {
  Decimal number;
  if (!bound(value, number))
    return {};
  if (number.negative || number.isZero())
    return refuse(value, "'multipleOf' must be above 0");
  if (!Decimal{false, number.digits, 0}.count(4096) || number.exponent < -64 ||
      number.exponent > 64)
    return refuse(value, "'multipleOf' has more than 4096 remainders, or is beyond 10^64");
  NumberSet set;
  set.multiples.push_back(number);
  return withNumbers(std::move(set));
}

Shape SchemaMeaning::notMultipleOf(JsonId schema, JsonId value) {
  multipleOf(schema, value); // its errors
  NumberSet set;
  set.nonMultiples.push_back(document[value].number);
  return status().ok() ? onlyNumbers(std::move(set)) : nothing();
}

/// Strings by the number of their code points.
ExpressionId SchemaMeaning::lengths(uint64_t least, uint64_t most) {
  ExpressionId character = spelled(arena, CharacterSet::all(), algebra.spelling);
  return arena.repeat(character, uint32_t(least),
                      most == noLimit ? ExpressionArena::unbounded : uint32_t(most));
}

bool SchemaMeaning::countOfCharacters(JsonId value, uint64_t &count) {
  if (!countOf(value, count))
    return false;
  if (count <= 1000000000)
    return true;
  refuse(value, "a length is at most 1000000000", "INGOT-E6614");
  return false;
}

Shape SchemaMeaning::minLength(JsonId schema, JsonId value) {
  uint64_t count = 0;
  return countOfCharacters(value, count) ? withStrings(lengths(count, noLimit)) : nothing();
}

Shape SchemaMeaning::notMinLength(JsonId schema, JsonId value) {
  uint64_t count = 0;
  if (!countOfCharacters(value, count) || count == 0)
    return {};
  return onlyStrings(lengths(0, count - 1));
}

Shape SchemaMeaning::maxLength(JsonId schema, JsonId value) {
  uint64_t count = 0;
  return countOfCharacters(value, count) ? withStrings(lengths(0, count)) : nothing();
}

Shape SchemaMeaning::notMaxLength(JsonId schema, JsonId value) {
  uint64_t count = 0;
  return countOfCharacters(value, count) ? onlyStrings(lengths(count + 1, noLimit)) : nothing();
}

ExpressionId SchemaMeaning::patternTexts(std::string_view pattern, JsonId at) {
  auto [place, isNew] = patterns.try_emplace(std::string(pattern), ExpressionArena::nothing);
  if (!isNew)
    return place->second;
  RegexOptions options;
  options.spelling = algebra.spelling;
  options.search = true;
  Result<ExpressionId> texts = readRegex(arena, pattern, options);
  if (!texts.ok())
    refuse(at, "'" + std::string(pattern) + "': " + std::string(texts.status().message()),
           texts.status().code());
  else
    place->second = *texts;
  return place->second;
}

Shape SchemaMeaning::pattern(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::String, "a string"))
    return {};
  return withStrings(patternTexts(document[value].text, value));
}

Shape SchemaMeaning::notPattern(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::String, "a string"))
    return {};
  return onlyStrings(arena.difference(algebra.text, patternTexts(document[value].text, value)));
}

Shape SchemaMeaning::format(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::String, "a string"))
    return {};
  const std::string &name = document[value].text;
  if (const WholeRange *range = wholeFormat(name)) {
    NumberSet set;
    set.low = Decimal::parse(range->low);
    set.high = Decimal::parse(range->high);
    set.whole = NumberSet::Whole::Only;
    return withNumbers(std::move(set));
  }
  if (isAnnotation(name))
    return any();
  auto [place, isNew] = formats.try_emplace(name, ExpressionArena::nothing);
  if (isNew) {
    Result<ExpressionId> texts = formatTexts(arena, name, algebra.spelling);
    if (!texts.ok())
      return refuse(value, texts.status().message(), texts.status().code());
    place->second = *texts;
  }
  return withStrings(place->second);
}

Shape SchemaMeaning::notFormat(JsonId schema, JsonId value) {
  Shape shape = format(schema, value);
  if (!status().ok())
    return {};
  const std::string &name = document[value].text;
  if (wholeFormat(name) || name == "float" || name == "double")
    return unserved(schema, value);
  return onlyStrings(arena.difference(algebra.text, shape.strings));
}

} // namespace ingot::runtime::guided
