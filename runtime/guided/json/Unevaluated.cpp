// SPDX-License-Identifier: Apache-2.0
// `unevaluatedProperties` and `unevaluatedItems`: what the schemas that apply to the value itself
// have looked at, one case for each way in which they may match.
#include "runtime/guided/json/JsonSpelling.h"
#include "runtime/guided/json/SchemaMeaning.h"

#include <algorithm>

namespace ingot::runtime::guided {

using Kind = JsonValue::Kind;

constexpr size_t mostCases = 64;
constexpr size_t mostBranches = 5;
constexpr size_t mostNested = 16;

/// Both at once.
std::vector<SchemaMeaning::Case> SchemaMeaning::both(const std::vector<Case> &left,
                                                     const std::vector<Case> &right, JsonId at) {
  std::vector<Case> result;
  for (const Case &one : left)
    for (const Case &two : right) {
      Shape shape = algebra.meet(one.shape, two.shape);
      if (!shape.none())
        result.push_back({std::move(shape), arena.alternation(one.names, two.names),
                          std::max(one.items, two.items)});
    }
  if (result.size() > mostCases) {
    refuse(at, "there are more than 64 cases of what is evaluated", "INGOT-E6614");
    return {};
  }
  return result;
}

/// What a schema looks at by its own keywords; of the outermost, without those that ask.
SchemaMeaning::Case SchemaMeaning::ownCase(JsonId schema, bool outermost) {
  Case own{any(), ExpressionArena::nothing, 0};
  std::vector<std::string> names;
  for (const JsonMember &member : document[schema].members) {
    const JsonValue &value = document[member.value];
    if (member.name == "properties")
      for (const JsonMember &entry : value.members)
        names.push_back(entry.name);
    if (member.name == "patternProperties")
      for (const JsonMember &entry : value.members)
        own.names = arena.alternation(own.names, patternTexts(entry.name, entry.value));
    if (member.name == "additionalProperties" ||
        (member.name == "unevaluatedProperties" && !outermost))
      own.names = algebra.text;
    if (member.name == "prefixItems" || (member.name == "items" && value.kind == Kind::Array))
      own.items = std::max<uint64_t>(own.items, value.items.size());
    else if (member.name == "items" || (member.name == "unevaluatedItems" && !outermost) ||
             (member.name == "additionalItems" && has(schema, "items")))
      own.items = noLimit;
    else if (member.name == "contains")
      hasContains = true;
  }
  own.names = arena.alternation(own.names, anySpelling(arena, names, algebra.spelling));
  own.names = own.names == algebra.text ? own.names : arena.intersection(own.names, algebra.text);
  return own;
}

/// The ways in which some of these schemas match: every set of them, or those of one alone.
std::vector<SchemaMeaning::Case> SchemaMeaning::branchCases(const std::vector<JsonId> &branches,
                                                            bool onlyOne, JsonId at, size_t depth) {
  if (branches.size() > mostBranches) {
    refuse(at, "what is evaluated cannot be told for more than 5 branches", "INGOT-E6614");
    return {};
  }
  std::vector<Case> result;
  for (uint32_t chosen = 1; chosen < 1u << branches.size() && status().ok(); ++chosen) {
    if (onlyOne && (chosen & (chosen - 1)))
      continue;
    std::vector<Case> cases{{any(), ExpressionArena::nothing, 0}};
    for (size_t i = 0; i < branches.size(); ++i)
      cases = both(cases,
                   chosen >> i & 1 ? casesOf(branches[i], depth + 1)
                                   : std::vector<Case>{{ofPart({branches[i], true, false}),
                                                        ExpressionArena::nothing, 0}},
                   at);
    result.insert(result.end(), cases.begin(), cases.end());
  }
  return result;
}

/// With a condition that holds, and with one that does not.
std::vector<SchemaMeaning::Case> SchemaMeaning::eitherCases(const std::vector<Case> &holds,
                                                            JsonId then, Shape fails,
                                                            JsonId otherwise, JsonId at,
                                                            size_t depth) {
  std::vector<Case> result = then == noJson ? holds : both(holds, casesOf(then, depth + 1), at);
  std::vector<Case> other{{std::move(fails), ExpressionArena::nothing, 0}};
  if (otherwise != noJson)
    other = both(other, casesOf(otherwise, depth + 1), at);
  result.insert(result.end(), other.begin(), other.end());
  return result;
}

/// The cases of what one keyword of a schema applies in place; `cases` of the others.
std::vector<SchemaMeaning::Case> SchemaMeaning::applied(JsonId schema, const JsonMember &member,
                                                        size_t depth) {
  const JsonValue &value = document[member.value];
  std::vector<Case> cases{{any(), ExpressionArena::nothing, 0}};
  if (member.name == "$ref" || member.name == "$dynamicRef" || member.name == "$recursiveRef") {
    Result<JsonId> target = index.target(member.value);
    return target.ok() ? casesOf(*target, depth + 1) : cases; // its error comes by the keyword
  }
  if (member.name == "allOf")
    for (JsonId item : value.items)
      cases = both(cases, casesOf(item, depth + 1), member.value);
  if (member.name == "anyOf" || member.name == "oneOf")
    return branchCases(value.items, member.name == "oneOf", member.value, depth);
  if (member.name == "if")
    return eitherCases(casesOf(member.value, depth + 1), document.member(schema, "then"),
                       ofPart({member.value, true, false}), document.member(schema, "else"),
                       member.value, depth);
  if (member.name == "dependentSchemas" || member.name == "dependencies")
    for (const JsonMember &entry : value.members)
      if (document[entry.value].kind != Kind::Array) {
        Case has{onlyObjects(objectWith(entry.name, anyGoal, true)), ExpressionArena::nothing, 0};
        cases =
            both(cases,
                 eitherCases({has}, entry.value, withObjects(objectWith(entry.name, noGoal, false)),
                             noJson, member.value, depth),
                 member.value);
      }
  return cases;
}

std::vector<SchemaMeaning::Case> SchemaMeaning::casesOf(JsonId schema, size_t depth) {
  if (depth > mostNested) {
    refuse(schema, "what is evaluated is more than 16 schemas deep", "INGOT-E6614");
    return {};
  }
  Shape whole = depth ? ofPart({schema, false, false}) : any();
  std::vector<Case> cases{{std::move(whole), ExpressionArena::nothing, 0}};
  if (document[schema].kind != Kind::Object)
    return cases;
  cases = both(cases, {ownCase(schema, depth == 0)}, schema);
  for (const JsonMember &member : document[schema].members)
    if (status().ok())
      cases = both(cases, applied(schema, member, depth), member.value);
  return cases;
}

Shape SchemaMeaning::unevaluatedProperties(JsonId schema, JsonId value) {
  if (goalOf(value) == anyGoal)
    return any();
  Shape shape;
  for (const Case &entry : casesOf(schema, 0)) {
    ObjectSet set;
    set.others = {{entry.names, anyGoal, false},
                  {arena.difference(algebra.text, entry.names), goalOf(value), false}};
    std::erase_if(set.others, [&](const NameClass &names) { return arena.isEmpty(names.names); });
    ShapeAlgebra::join(arena, shape, algebra.meet(entry.shape, withObjects(std::move(set))));
  }
  return shape;
}

Shape SchemaMeaning::unevaluatedItems(JsonId schema, JsonId value) {
  if (goalOf(value) == anyGoal)
    return any();
  Shape shape;
  hasContains = false;
  for (const Case &entry : casesOf(schema, 0)) {
    ArraySet set;
    if (entry.items != noLimit) {
      set.first.assign(entry.items, anyGoal);
      set.rest = goalOf(value);
    }
    ShapeAlgebra::join(arena, shape, algebra.meet(entry.shape, withArrays(std::move(set))));
  }
  // Items that `contains` matches are evaluated since 2020-12.
  return hasContains ? unserved(schema, value) : shape;
}

} // namespace ingot::runtime::guided
