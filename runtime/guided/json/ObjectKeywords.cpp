// SPDX-License-Identifier: Apache-2.0
// Keywords of objects.
#include "runtime/guided/json/JsonSpelling.h"
#include "runtime/guided/json/SchemaMeaning.h"

#include <algorithm>

namespace ingot::runtime::guided {

using Kind = JsonValue::Kind;

/// Names are told apart by which patterns they match: sets of them.
constexpr size_t mostNameClasses = 64;

ObjectSet SchemaMeaning::openObject() const {
  ObjectSet set;
  set.others.push_back({algebra.text, anyGoal});
  return set;
}

ObjectSet SchemaMeaning::objectWith(const std::string &name, GoalId goal, bool required) const {
  ObjectSet set = openObject();
  set.members.push_back({name, goal, required});
  return set;
}

/// Splits the classes of names by each pattern; members get the goals of what their names match.
bool SchemaMeaning::splitByPattern(ObjectSet &set, std::vector<std::string> &names,
                                   JsonId patterns) {
  NameClass rest = set.others[0];
  set.others = {{algebra.text, anyGoal}};
  std::vector<bool> isMatched{false};
  for (const JsonMember &entry : document[patterns].members) {
    ExpressionId texts = patternTexts(entry.name, entry.value);
    GoalId goal = goalOf(entry.value);
    std::vector<NameClass> classes;
    std::vector<bool> matched;
    for (size_t i = 0; i < set.others.size(); ++i) {
      ExpressionId with = arena.intersection(set.others[i].names, texts);
      ExpressionId without = arena.difference(set.others[i].names, texts);
      if (!arena.isEmpty(with)) {
        classes.push_back({with, goals.meet(set.others[i].goal, goal), false});
        matched.push_back(true);
      }
      if (!arena.isEmpty(without)) {
        classes.push_back({without, set.others[i].goal, set.others[i].implied});
        matched.push_back(isMatched[i]);
      }
    }
    if (classes.size() > mostNameClasses) {
      refuse(patterns, "the patterns tell more than 64 classes of names apart", "INGOT-E6614");
      return false;
    }
    set.others = std::move(classes);
    isMatched = std::move(matched);
    for (size_t i = 0; i < names.size(); ++i)
      if (arena.matches(texts, names[i]))
        set.members[i].goal = goals.meet(set.members[i].goal, goal);
    if (!algebra.spend(names.size() * 8) || !status().ok())
      return false;
  }
  for (size_t i = 0; i < set.others.size(); ++i)
    if (!isMatched[i]) {
      set.others[i].goal = rest.goal;
      set.others[i].implied = rest.implied;
    }
  return true;
}

/// `properties`, `patternProperties` and `additionalProperties` together.
bool SchemaMeaning::readMembers(JsonId schema, ObjectSet &set) {
  JsonId properties = document.member(schema, "properties");
  JsonId patterns = document.member(schema, "patternProperties");
  JsonId additional = document.member(schema, "additionalProperties");
  bool isImplied = additional == noJson;
  set.others = {{algebra.text, isImplied ? anyGoal : goalOf(additional), isImplied}};
  std::vector<std::string> names;
  if (properties != noJson) {
    if (!isKind(properties, Kind::Object, "an object of schemas"))
      return false;
    for (const JsonMember &member : document[properties].members)
      set.members.push_back({member.name, goalOf(member.value), false});
  }
  if (patterns != noJson) {
    if (!isKind(patterns, Kind::Object, "an object of schemas"))
      return false;
    for (const ObjectMember &member : set.members)
      names.push_back(plainSpelling(member.name, algebra.spelling));
    if (!splitByPattern(set, names, patterns))
      return false;
  }
  return algebra.spend(set.members.size());
}

/// The first keyword of the group speaks for all.
Shape SchemaMeaning::members(JsonId schema, JsonId value) {
  for (const JsonMember &member : document[schema].members) {
    if (member.value == value)
      break;
    if (const Keyword *keyword = find(member.name);
        keyword && keyword->positive == &SchemaMeaning::members)
      return any();
  }
  ObjectSet set;
  return readMembers(schema, set) ? withObjects(std::move(set)) : nothing();
}

Shape SchemaMeaning::notProperties(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Object, "an object of schemas"))
    return {};
  Shape shape;
  for (const JsonMember &member : document[value].members)
    ShapeAlgebra::join(arena, shape,
                       onlyObjects(objectWith(member.name, goalOf(member.value, true), true)));
  return shape;
}

/// Objects with a member that is named and valued so.
Shape SchemaMeaning::demanding(ExpressionId names, GoalId goal) const {
  ObjectSet set = openObject();
  set.demands.push_back({names, goal});
  return onlyObjects(std::move(set));
}

Shape SchemaMeaning::notPatternProperties(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Object, "an object of schemas"))
    return {};
  Shape shape;
  for (const JsonMember &entry : document[value].members)
    ShapeAlgebra::join(
        arena, shape,
        demanding(arena.intersection(algebra.text, patternTexts(entry.name, entry.value)),
                  goalOf(entry.value, true)));
  return shape;
}

/// A member that no name and no pattern stands for does not match.
Shape SchemaMeaning::notAdditionalProperties(JsonId schema, JsonId value) {
  if (goalOf(value) == anyGoal)
    return {};
  JsonId properties = document.member(schema, "properties");
  JsonId patterns = document.member(schema, "patternProperties");
  std::vector<std::string> names;
  if (properties != noJson)
    for (const JsonMember &member : document[properties].members)
      names.push_back(member.name);
  ExpressionId taken = anySpelling(arena, names, algebra.spelling);
  if (patterns != noJson)
    for (const JsonMember &entry : document[patterns].members)
      taken = arena.alternation(taken, patternTexts(entry.name, entry.value));
  return demanding(arena.difference(algebra.text, taken), goalOf(value, true));
}

/// Objects that have members of all these names.
Shape SchemaMeaning::hasAll(const std::vector<std::string> &names) {
  ObjectSet set = openObject();
  for (const std::string &name : names)
    if (std::none_of(set.members.begin(), set.members.end(),
                     [&](const ObjectMember &member) { return member.name == name; }))
      set.members.push_back({name, anyGoal, true});
  algebra.spend(names.size() * names.size() / 64);
  return onlyObjects(std::move(set));
}

Shape SchemaMeaning::required(JsonId schema, JsonId value) {
  std::vector<std::string> names;
  if (!namesOf(value, names))
    return {};
  Shape shape = any();
  shape.objects = hasAll(names).objects;
  return shape;
}

Shape SchemaMeaning::notRequired(JsonId schema, JsonId value) {
  std::vector<std::string> names;
  if (!namesOf(value, names))
    return {};
  Shape shape;
  for (const std::string &name : names)
    ShapeAlgebra::join(arena, shape, onlyObjects(objectWith(name, noGoal, false)));
  return shape;
}

Shape SchemaMeaning::minProperties(JsonId schema, JsonId value) {
  ObjectSet set = openObject();
  return countOf(value, set.least) ? withObjects(std::move(set)) : nothing();
}

Shape SchemaMeaning::notMinProperties(JsonId schema, JsonId value) {
  ObjectSet set = openObject();
  if (!countOf(value, set.most) || set.most == 0)
    return {};
  --set.most;
  return onlyObjects(std::move(set));
}

Shape SchemaMeaning::maxProperties(JsonId schema, JsonId value) {
  ObjectSet set = openObject();
  return countOf(value, set.most) ? withObjects(std::move(set)) : nothing();
}

Shape SchemaMeaning::notMaxProperties(JsonId schema, JsonId value) {
  ObjectSet set = openObject();
  if (!countOf(value, set.least))
    return {};
  ++set.least;
  return onlyObjects(std::move(set));
}

Shape SchemaMeaning::propertyNames(JsonId schema, JsonId value) {
  Shape names = ofPart({value, false, false});
  ObjectSet set;
  if (names.strings == algebra.text)
    return any();
  if (!arena.isEmpty(names.strings))
    set.others.push_back({names.strings, anyGoal});
  return withObjects(std::move(set));
}

Shape SchemaMeaning::notPropertyNames(JsonId schema, JsonId value) {
  ExpressionId names = ofPart({value, false, false}).strings;
  return names == algebra.text ? nothing()
                               : demanding(arena.difference(algebra.text, names), anyGoal);
}

/// `dependentRequired`, `dependentSchemas`, and `dependencies`, which has entries of both kinds.
Shape SchemaMeaning::dependencies(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Object, "an object"))
    return {};
  Shape shape = any();
  for (const JsonMember &entry : document[value].members) {
    Shape either = withObjects(objectWith(entry.name, noGoal, false));
    Shape has = onlyObjects(objectWith(entry.name, anyGoal, true));
    if (document[entry.value].kind == Kind::Array) {
      std::vector<std::string> names;
      if (!namesOf(entry.value, names))
        return {};
      has = algebra.meet(has, hasAll(names));
    } else {
      has = algebra.meet(has, ofPart({entry.value, false, false}));
    }
    ShapeAlgebra::join(arena, either, has);
    shape = algebra.meet(shape, either);
  }
  return shape;
}

Shape SchemaMeaning::notDependencies(JsonId schema, JsonId value) {
  if (!isKind(value, Kind::Object, "an object"))
    return {};
  Shape shape;
  for (const JsonMember &entry : document[value].members) {
    Shape has = onlyObjects(objectWith(entry.name, anyGoal, true));
    Shape lacks;
    if (document[entry.value].kind == Kind::Array)
      lacks = notRequired(schema, entry.value);
    else
      lacks = ofPart({entry.value, true, false});
    ShapeAlgebra::join(arena, shape, algebra.meet(has, lacks));
  }
  return shape;
}

} // namespace ingot::runtime::guided
