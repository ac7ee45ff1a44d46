// SPDX-License-Identifier: Apache-2.0
// Keywords of every type: types, constants, references and combinations of schemas.
#include "runtime/guided/json/JsonSpelling.h"
#include "runtime/guided/json/SchemaMeaning.h"

#include <algorithm>

namespace ingot::runtime::guided {

using Kind = JsonValue::Kind;

enum Kinds : uint32_t {
  NullKind = 1,
  BooleanKind = 2,
  WholeKind = 4, ///< whole numbers
  OtherNumberKind = 8,
  StringKind = 16,
  ArrayKind = 32,
  ObjectKind = 64,
  AllKinds = 127
};

/// Levels down to which branches of a oneOf are looked through for what tells them apart.
constexpr int exclusionDepth = 4;

Shape SchemaMeaning::anyBut(uint32_t kinds) {
  Shape shape = any();
  shape.null = !(kinds & NullKind);
  shape.no = shape.yes = !(kinds & BooleanKind);
  if (kinds & WholeKind)
    shape.numbers[0].whole = NumberSet::Whole::Never;
  else if (kinds & OtherNumberKind)
    shape.numbers[0].whole = NumberSet::Whole::Only;
  if ((kinds & (WholeKind | OtherNumberKind)) == (WholeKind | OtherNumberKind))
    shape.numbers.clear();
  if (kinds & StringKind)
    shape.strings = ExpressionArena::nothing;
  if (kinds & ArrayKind)
    shape.arrays.clear();
  if (kinds & ObjectKind)
    shape.objects.clear();
  return shape;
}

/// The kinds that `type` lists; 0 and an error where it is wrong.
uint32_t SchemaMeaning::kindsOf(JsonId value) {
  static constexpr std::pair<std::string_view, uint32_t> names[] = {
      {"null", NullKind},     {"boolean", BooleanKind}, {"integer", WholeKind},
      {"string", StringKind}, {"array", ArrayKind},     {"number", WholeKind | OtherNumberKind},
      {"object", ObjectKind}};
  uint32_t kinds = 0;
  std::vector<JsonId> items{value};
  if (document[value].kind == Kind::Array)
    items = document[value].items;
  for (JsonId item : items) {
    uint32_t kind = 0;
    for (auto [name, code] : names)
      if (document[item].kind == Kind::String && document[item].text == name)
        kind = code;
    if (!kind)
      refuse(item, "a type is null, boolean, integer, number, string, array or object");
    kinds |= kind;
  }
  return kinds;
}

Shape SchemaMeaning::type(JsonId schema, JsonId value) {
  return anyBut(AllKinds & ~kindsOf(value));
}

Shape SchemaMeaning::notType(JsonId schema, JsonId value) { return anyBut(kindsOf(value)); }

Shape SchemaMeaning::constant(JsonId id) {
  const JsonValue &value = document[id];
  Shape shape;
  shape.null = value.kind == Kind::Null;
  shape.no = value.kind == Kind::False;
  shape.yes = value.kind == Kind::True;
  if (value.kind == Kind::Number)
    shape.numbers.push_back(
        {value.number,
         value.number,
         false,
         false,
         value.number.isWhole() ? NumberSet::Whole::Only : NumberSet::Whole::Never,
         {},
         {}});
  if (value.kind == Kind::String)
    shape.strings = writtenText(arena, value.text, algebra.spelling);
  if (value.kind == Kind::Array) {
    ArraySet &set = shape.arrays.emplace_back();
    for (JsonId item : value.items)
      set.first.push_back(goals.of({item, false, true}));
    set.rest = noGoal;
    set.least = set.most = value.items.size();
  }
  if (value.kind == Kind::Object) {
    ObjectSet &set = shape.objects.emplace_back();
    for (const JsonMember &member : value.members)
      set.members.push_back({member.name, goals.of({member.value, false, true}), true});
    set.least = value.members.size();
  }
  algebra.spend(value.items.size() + value.members.size());
  return shape;
}

Shape SchemaMeaning::notConstant(JsonId id) {
  const JsonValue &value = document[id];
  Shape shape = any();
  shape.null = value.kind != Kind::Null;
  shape.no = value.kind != Kind::False;
  shape.yes = value.kind != Kind::True;
  if (value.kind == Kind::Number) {
    shape.numbers.assign(2, {});
    shape.numbers[0].high = shape.numbers[1].low = value.number;
    shape.numbers[0].highExclusive = shape.numbers[1].lowExclusive = true;
  }
  if (value.kind == Kind::String)
    shape.strings = arena.difference(
        algebra.text, anySpelling(arena, std::span(&value.text, 1), algebra.spelling));
  if (value.kind == Kind::Array) {
    size_t count = value.items.size();
    shape.arrays.assign(1, {});
    shape.arrays[0].least = count + 1;
    if (count)
      shape.arrays.emplace_back().most = count - 1;
    for (size_t i = 0; i < count; ++i) {
      ArraySet &set = shape.arrays.emplace_back();
      set.first.assign(i + 1, anyGoal);
      set.first[i] = goals.of({value.items[i], true, true});
      set.least = i + 1;
    }
    algebra.spend(count * count);
  }
  if (value.kind == Kind::Object) {
    // A name is missing, a value differs, or there is one name more.
    shape.objects[0].least = value.members.size() + 1;
    for (const JsonMember &member : value.members) {
      shape.objects.push_back(objectWith(member.name, noGoal, false));
      shape.objects.push_back(objectWith(member.name, goals.of({member.value, true, true}), true));
      shape.objects[0].members.push_back({member.name, anyGoal, true});
    }
  }
  return shape;
}

Shape SchemaMeaning::constantKeyword(JsonId schema, JsonId value) { return constant(value); }

Shape SchemaMeaning::notConstantKeyword(JsonId schema, JsonId value) { return notConstant(value); }

Shape SchemaMeaning::enumeration(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array"))
    return {};
  Shape shape;
  std::vector<std::string> texts;
  for (JsonId item : document[value].items) {
    if (document[item].kind == Kind::String)
      texts.push_back(document[item].text);
    else
      ShapeAlgebra::join(arena, shape, constant(item));
  }
  shape.strings = writtenTexts(arena, texts, algebra.spelling);
  return shape;
}

Shape SchemaMeaning::notEnumeration(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array"))
    return {};
  Shape shape = any();
  std::vector<std::string> texts;
  for (JsonId item : document[value].items) {
    if (document[item].kind == Kind::String)
      texts.push_back(document[item].text);
    else
      shape = algebra.meet(shape, notConstant(item));
  }
  if (!texts.empty())
    shape.strings = arena.difference(shape.strings, anySpelling(arena, texts, algebra.spelling));
  return shape;
}

/// What the schema that a reference names says of a value, or the contrary.
Shape SchemaMeaning::referred(JsonId value, bool negated) {
  if (!isKind(value, Kind::String, "a string"))
    return {};
  Result<JsonId> target = index.target(value);
  if (!target.ok()) {
    failure = failure.ok() ? target.status() : failure;
    return {};
  }
  return ofPart({*target, negated, false});
}

Shape SchemaMeaning::reference(JsonId schema, JsonId value) { return referred(value, false); }

Shape SchemaMeaning::notReference(JsonId schema, JsonId value) { return referred(value, true); }

/// `$dynamicRef` and `$recursiveRef` where they are references like others.
Shape SchemaMeaning::dynamicReference(JsonId schema, JsonId value) {
  return index.isDynamic(value) ? unserved(schema, value) : reference(schema, value);
}

Shape SchemaMeaning::notDynamicReference(JsonId schema, JsonId value) {
  return index.isDynamic(value) ? unserved(schema, value) : notReference(schema, value);
}

Shape SchemaMeaning::allOf(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array of schemas"))
    return {};
  Shape shape = any();
  for (JsonId item : document[value].items)
    shape = algebra.meet(shape, ofPart({item, false, false}));
  return shape;
}

Shape SchemaMeaning::notAllOf(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array of schemas"))
    return {};
  Shape shape;
  for (JsonId item : document[value].items)
    ShapeAlgebra::join(arena, shape, ofPart({item, true, false}));
  return shape;
}

Shape SchemaMeaning::anyOf(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array of schemas"))
    return {};
  Shape shape;
  for (JsonId item : document[value].items) {
    ShapeAlgebra::join(arena, shape, ofPart({item, false, false}));
    algebra.spend(shape.objects.size() + shape.arrays.size());
  }
  if (std::max(shape.objects.size(), shape.arrays.size()) > ShapeAlgebra::mostAlternatives)
    return refuse(value, "there are more than 2048 alternatives", "INGOT-E6614");
  return shape;
}

Shape SchemaMeaning::notAnyOf(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array of schemas"))
    return {};
  Shape shape = any();
  for (JsonId item : document[value].items)
    shape = algebra.meet(shape, ofPart({item, true, false}));
  return shape;
}

/// Every branch without those others that it has values in common with.
Shape SchemaMeaning::oneOf(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array of schemas"))
    return {};
  const std::vector<JsonId> &items = document[value].items;
  std::vector<Shape> branches;
  for (JsonId item : items)
    branches.push_back(ofPart({item, false, false}));
  std::vector<Shape> rest = branches;
  for (size_t i = 0; i < items.size() && status().ok(); ++i)
    for (size_t j = i + 1; j < items.size() && status().ok(); ++j) {
      if (isEmpty(algebra.meet(branches[i], branches[j]), exclusionDepth) || !status().ok())
        continue;
      rest[i] = algebra.meet(rest[i], ofPart({items[j], true, false}));
      rest[j] = algebra.meet(rest[j], ofPart({items[i], true, false}));
      if (!failure.ok() && failure.code() == "INGOT-E6611")
        failure = std::move(failure).in(document.pointer(value) + ": branches " +
                                        std::to_string(i) + " and " + std::to_string(j) +
                                        " may both match, which cannot be ruled out");
    }
  Shape shape;
  for (const Shape &branch : rest) {
    ShapeAlgebra::join(arena, shape, branch);
    algebra.spend(shape.objects.size() + shape.arrays.size());
  }
  return shape;
}

/// None, or two at least.
Shape SchemaMeaning::notOneOf(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Array, "an array of schemas"))
    return {};
  const std::vector<JsonId> &items = document[value].items;
  Shape shape = notAnyOf(schema, value);
  for (size_t i = 0; i < items.size() && status().ok(); ++i)
    for (size_t j = i + 1; j < items.size() && status().ok(); ++j) {
      Shape both = algebra.meet(ofPart({items[i], false, false}), ofPart({items[j], false, false}));
      if (!isEmpty(both, exclusionDepth))
        ShapeAlgebra::join(arena, shape, both);
    }
  return shape;
}

Shape SchemaMeaning::negation(JsonId schema, JsonId value) { return ofPart({value, true, false}); }

Shape SchemaMeaning::notNegation(JsonId schema, JsonId value) {
  return ofPart({value, false, false});
}

/// `then` or `else`; where it is absent everything matches.
Shape SchemaMeaning::branch(JsonId schema, std::string_view name, bool negated) {
  JsonId value = document.member(schema, name);
  if (value == noJson)
    return negated ? nothing() : any();
  return ofPart({value, negated, false});
}

Shape SchemaMeaning::conditional(JsonId schema, JsonId value) {
  if (!has(schema, "then") && !has(schema, "else"))
    return any();
  Shape shape = algebra.meet(ofPart({value, false, false}), branch(schema, "then", false));
  ShapeAlgebra::join(arena, shape,
                     algebra.meet(ofPart({value, true, false}), branch(schema, "else", false)));
  return shape;
}

Shape SchemaMeaning::notConditional(JsonId schema, JsonId value) {
  if (!has(schema, "then") && !has(schema, "else"))
    return nothing();
  Shape shape = algebra.meet(ofPart({value, false, false}), branch(schema, "then", true));
  ShapeAlgebra::join(arena, shape,
                     algebra.meet(ofPart({value, true, false}), branch(schema, "else", true)));
  return shape;
}

/// `$schema`: another dialect than those of the specification may mean anything.
Shape SchemaMeaning::dialect(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::String, "a string"))
    return {};
  if (document[value].text.find("//json-schema.org/") == std::string::npos)
    return refuse(value, "$schema names no draft of json-schema.org");
  return any();
}

} // namespace ingot::runtime::guided
