// SPDX-License-Identifier: Apache-2.0
// The table of keywords, and those that bind values of every type.
#include "runtime/guided/json/SchemaMeaning.h"

#include "runtime/guided/json/JsonSpelling.h"
#include "runtime/guided/json/UnknownKeywords.h"

#include <algorithm>

namespace ingot::runtime::guided {

using Kind = JsonValue::Kind;

/// Schemas that apply at one place, one within the other, by references or applicators.
constexpr size_t mostInPlace = 200;

static unsigned draftOf(const JsonDocument &document) {
  const JsonId name = document.member(0, "$schema");
  const std::string_view text = name == noJson ? std::string_view() : document[name].text;
  for (auto [part, draft] : {std::pair("draft-03", 3u),
                             {"draft-04", 4},
                             {"draft-06", 6},
                             {"draft-07", 7},
                             {"2019-09", 2019}})
    if (text.find(part) != std::string_view::npos)
      return draft;
  return 2020;
}

SchemaMeaning::SchemaMeaning(const JsonDocument &document, const SchemaIndex &index,
                             ShapeAlgebra &algebra)
    : document(document), index(index), algebra(algebra), arena(algebra.arena),
      goals(algebra.goals), draft(draftOf(document)) {}

std::span<const SchemaMeaning::Keyword> SchemaMeaning::keywords() {
  using M = SchemaMeaning;
  static const Keyword table[] = {
      {"type", &M::type, &M::notType, false},
      {"const", &M::constantKeyword, &M::notConstantKeyword, false},
      {"enum", &M::enumeration, &M::notEnumeration, false},
      {"$ref", &M::reference, &M::notReference, false},
      {"allOf", &M::allOf, &M::notAllOf, false},
      {"anyOf", &M::anyOf, &M::notAnyOf, false},
      {"oneOf", &M::oneOf, &M::notOneOf, false},
      {"not", &M::negation, &M::notNegation, false},
      {"if", &M::conditional, &M::notConditional, false},
      {"minimum", &M::minimum, &M::notMinimum, false},
      {"maximum", &M::maximum, &M::notMaximum, false},
      {"exclusiveMinimum", &M::exclusiveMinimum, &M::notExclusiveMinimum, false},
      {"exclusiveMaximum", &M::exclusiveMaximum, &M::notExclusiveMaximum, false},
      {"multipleOf", &M::multipleOf, &M::notMultipleOf, false},
      {"minLength", &M::minLength, &M::notMinLength, false},
      {"maxLength", &M::maxLength, &M::notMaxLength, false},
      {"pattern", &M::pattern, &M::notPattern, false},
      {"format", &M::format, &M::notFormat, false},
      {"prefixItems", &M::items, &M::notItems, false},
      {"items", &M::items, &M::notItems, false},
      {"additionalItems", &M::items, &M::notItems, false},
      {"unevaluatedItems", &M::unevaluatedItems, &M::unserved, false},
      {"minItems", &M::minItems, &M::notMinItems, false},
      {"maxItems", &M::maxItems, &M::notMaxItems, false},
      {"uniqueItems", &M::uniqueItems, &M::notUniqueItems, false},
      {"contains", &M::contains, &M::notContains, false},
      {"properties", &M::members, &M::notProperties, false},
      {"patternProperties", &M::members, &M::notPatternProperties, false},
      {"additionalProperties", &M::members, &M::notAdditionalProperties, false},
      {"unevaluatedProperties", &M::unevaluatedProperties, &M::unserved, false},
      {"required", &M::required, &M::notRequired, true},
      {"minProperties", &M::minProperties, &M::notMinProperties, true},
      {"maxProperties", &M::maxProperties, &M::notMaxProperties, true},
      {"propertyNames", &M::propertyNames, &M::notPropertyNames, true},
      {"dependentRequired", &M::dependencies, &M::notDependencies, true},
      {"dependentSchemas", &M::dependencies, &M::notDependencies, true},
      {"dependencies", &M::dependencies, &M::notDependencies, true},
      {"$schema", &M::dialect, nullptr, false},
      {"$dynamicRef", &M::dynamicReference, &M::notDynamicReference, false},
      {"$recursiveRef", &M::dynamicReference, &M::notDynamicReference, false},
      {"$vocabulary", &M::unserved, &M::unserved, false},
      // Read with others.
      {"then", nullptr, nullptr, false},
      {"else", nullptr, nullptr, false},
      {"minContains", nullptr, nullptr, false},
      {"maxContains", nullptr, nullptr, false},
      {"$id", nullptr, nullptr, false},
      {"$anchor", nullptr, nullptr, false},
      {"$dynamicAnchor", nullptr, nullptr, false},
      {"$recursiveAnchor", nullptr, nullptr, false},
      {"$defs", nullptr, nullptr, false},
      {"definitions", nullptr, nullptr, false},
      // Annotations of the specification.
      {"$comment", nullptr, nullptr, false},
      {"title", nullptr, nullptr, false},
      {"description", nullptr, nullptr, false},
      {"default", nullptr, nullptr, false},
      {"deprecated", nullptr, nullptr, false},
      {"readOnly", nullptr, nullptr, false},
      {"writeOnly", nullptr, nullptr, false},
      {"examples", nullptr, nullptr, false},
      {"contentEncoding", nullptr, nullptr, false},
      {"contentMediaType", nullptr, nullptr, false},
      {"contentSchema", nullptr, nullptr, false},
      // Annotations of OpenAPI and of editors, in wide use.
      {"example", nullptr, nullptr, false},
      {"externalDocs", nullptr, nullptr, false},
      {"discriminator", nullptr, nullptr, false},
      {"xml", nullptr, nullptr, false},
      {"markdownDescription", nullptr, nullptr, false},
      {"enumDescriptions", nullptr, nullptr, false},
      {"markdownEnumDescriptions", nullptr, nullptr, false},
      {"enumNames", nullptr, nullptr, false},
      {"deprecationMessage", nullptr, nullptr, false},
      {"defaultSnippets", nullptr, nullptr, false},
      {"errorMessage", nullptr, nullptr, false},
      {"tsType", nullptr, nullptr, false},
      {"propertyOrder", nullptr, nullptr, false},
      {"propertyOrdering", nullptr, nullptr, false},
      {"strict", nullptr, nullptr, false},
  };
  return table;
}

const SchemaMeaning::Keyword *SchemaMeaning::find(std::string_view name) {
  static const std::unordered_map<std::string_view, const Keyword *> byName = [] {
    std::unordered_map<std::string_view, const Keyword *> result;
    for (const Keyword &keyword : keywords())
      result.emplace(keyword.name, &keyword);
    return result;
  }();
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : found->second;
}

/// The row of a keyword; null, and an error, where there is none. The names that begin with "x-"
/// or "_" are their users' own and bind nothing; others that are not known are annotations where
/// they do not look like keywords that bind.
const SchemaMeaning::Keyword *SchemaMeaning::known(const JsonMember &member) {
  static const Keyword annotation{"", nullptr, nullptr, false};
  static const std::vector<std::string_view> binding = [] {
    std::vector<std::string_view> names{"then", "else", "minContains", "maxContains"};
    for (const Keyword &keyword : keywords())
      if (keyword.positive)
        names.push_back(keyword.name);
    return names;
  }();
  if (const Keyword *keyword = find(member.name))
    return isOfDraft(member) ? keyword : nullptr;
  if (member.name.starts_with("x-") || member.name.starts_with('_') ||
      !mayBind(member.name, binding))
    return &annotation;
  refuse(member.value, "the keyword '" + member.name + "' is not known");
  return nullptr;
}

/// Whether a keyword has its meaning in the draft that `$schema` names; an error where it has none
/// there.
bool SchemaMeaning::isOfDraft(const JsonMember &member) {
  static constexpr std::pair<std::string_view, unsigned> since[] = {{"const", 6},
                                                                    {"contains", 6},
                                                                    {"propertyNames", 6},
                                                                    {"if", 7},
                                                                    {"minContains", 2019},
                                                                    {"maxContains", 2019},
                                                                    {"dependentRequired", 2019},
                                                                    {"dependentSchemas", 2019},
                                                                    {"unevaluatedItems", 2019},
                                                                    {"unevaluatedProperties", 2019},
                                                                    {"prefixItems", 2020}};
  if (draft == 2020)
    return true;
  const auto entry = std::ranges::find(since, std::string_view(member.name),
                                       &std::pair<std::string_view, unsigned>::first);
  if (entry != std::end(since) && draft < entry->second) {
    refuse(member.value, "'" + member.name + "' is no keyword of the draft that $schema names");
    return false;
  }
  return true;
}

/// Before 2019-09 a reference's neighbours say nothing; where `$schema` names no draft they do.
bool SchemaMeaning::isBesideReference(JsonId schema, const JsonMember &member) const {
  return draft < 2019 && member.name != "$ref" && has(schema, "$ref");
}

const Status &SchemaMeaning::status() const {
  if (!failure.ok())
    return failure;
  return algebra.status().ok() ? arena.status() : algebra.status();
}

Shape SchemaMeaning::refuse(JsonId at, std::string_view what, std::string_view code) {
  if (failure.ok())
    failure = Status::error(code, document.pointer(at) + ": " + std::string(what));
  return {};
}

Shape SchemaMeaning::unserved(JsonId schema, JsonId value) {
  const std::string &name = document[schema].members[document[value].place].name;
  return refuse(value, "'" + name + "' cannot be enforced here");
}

GoalId SchemaMeaning::goalOf(JsonId schema, bool negated) {
  for (int hop = 0; hop < 64; ++hop) {
    const JsonValue &value = document[schema];
    if (value.isBoolean())
      return (value.kind == Kind::True) != negated ? anyGoal : noGoal;
    if (value.kind != Kind::Object)
      return goals.of({schema, negated, false});
    JsonId reference = noJson;
    bool isPlain = true; // nothing binds but a reference
    for (const JsonMember &member : value.members) {
      const Keyword *keyword = find(member.name);
      bool isReference = member.name == "$ref" && document[member.value].kind == Kind::String;
      reference = isReference ? member.value : reference;
      isPlain &= isReference || (keyword && !keyword->positive && !keyword->negative);
    }
    if (isPlain && reference == noJson && value.members.empty())
      return negated ? noGoal : anyGoal;
    if (!isPlain || reference == noJson)
      break;
    Result<JsonId> target = index.target(reference);
    if (!target.ok())
      break;
    schema = *target;
  }
  return goals.of({schema, negated, false});
}

const Shape &SchemaMeaning::shape(GoalId goal) {
  static const Shape empty;
  if (auto found = shapes.find(goal); found != shapes.end())
    return found->second;
  Shape result;
  if (goal != noGoal) {
    result = any();
    for (GoalPart part : goals.parts(goal))
      result = algebra.meet(result, ofPart(part));
  }
  if (!status().ok())
    return empty;
  return shapes.emplace(goal, std::move(result)).first->second;
}

Shape SchemaMeaning::ofPart(GoalPart part) {
  if (!status().ok())
    return {};
  if (part.constant)
    return part.negated ? notConstant(part.value) : constant(part.value);
  if (auto found = parts.find(part.code()); found != parts.end())
    return found->second;
  if (underWay.size() >= mostInPlace)
    return refuse(part.value, "more than 200 schemas apply to one value", "INGOT-E6614");
  if (!underWay.insert(part.code()).second)
    return refuse(part.value, "the schema refers to itself, without an array or object between",
                  "INGOT-E6612");
  Shape result = part.negated ? negative(part.value) : positive(part.value);
  underWay.erase(part.code());
  if (status().ok())
    parts.emplace(part.code(), result);
  return result;
}

Shape SchemaMeaning::positive(JsonId schema) {
  const JsonValue &value = document[schema];
  if (value.isBoolean())
    return value.kind == Kind::True ? any() : nothing();
  if (value.kind != Kind::Object)
    return refuse(schema, "a schema is an object, true or false");
  Shape result = any();
  for (bool late : {false, true})
    for (const JsonMember &member : value.members) {
      const Keyword *keyword = known(member);
      if (!status().ok())
        return {};
      if (keyword->positive && keyword->late == late && !isBesideReference(schema, member))
        result = algebra.meet(result, (this->*keyword->positive)(schema, member.value));
    }
  return result;
}

Shape SchemaMeaning::negative(JsonId schema) {
  const JsonValue &value = document[schema];
  if (value.isBoolean())
    return value.kind == Kind::True ? nothing() : any();
  if (value.kind != Kind::Object)
    return refuse(schema, "a schema is an object, true or false");
  Shape result;
  for (const JsonMember &member : value.members) {
    const Keyword *keyword = known(member);
    if (!status().ok())
      return {};
    if (keyword->negative && !isBesideReference(schema, member))
      ShapeAlgebra::join(arena, result, (this->*keyword->negative)(schema, member.value));
    algebra.spend(result.objects.size() + result.arrays.size());
  }
  return result;
}

bool SchemaMeaning::isEmpty(GoalId goal, int depth) {
  if (goal == noGoal || goal == anyGoal)
    return goal == noGoal;
  if (depth == 0)
    return false;
  Shape copy = shape(goal); // what follows may move the table
  return status().ok() && isEmpty(copy, depth);
}

bool SchemaMeaning::isEmpty(const Shape &shape, int depth) {
  if (shape.null || shape.no || shape.yes || !arena.isEmpty(shape.strings))
    return false;
  for (const NumberSet &set : shape.numbers) {
    // A whole number between bounds that are not whole is looked for as text, later.
    if (holdsNumbers(set))
      return false;
  }
  for (const ArraySet &set : shape.arrays) {
    bool isImpossible = false;
    for (size_t i = 0; i < set.least && i <= set.first.size(); ++i)
      isImpossible |= isEmpty(i < set.first.size() ? set.first[i] : set.rest, depth - 1);
    if (!isImpossible)
      return false;
  }
  for (const ObjectSet &set : shape.objects) {
    bool isImpossible = false;
    for (const ObjectMember &member : set.members)
      isImpossible = isImpossible || (member.required && isEmpty(member.goal, depth - 1));
    if (!isImpossible)
      return false;
  }
  return true;
}

JsonId SchemaMeaning::valueOf(GoalId goal) const {
  std::vector<GoalPart> all = goal == noGoal ? std::vector<GoalPart>() : goals.parts(goal);
  return all.empty() ? 0 : all.front().value;
}

std::string SchemaMeaning::placeOf(GoalId goal) const { return document.pointer(valueOf(goal)); }

std::vector<GoalId> SchemaMeaning::constantsOf(GoalId goal, size_t most) {
  for (GoalPart part : goal == noGoal ? std::vector<GoalPart>() : goals.parts(goal)) {
    JsonId list = part.negated || part.constant ? noJson : document.member(part.value, "enum");
    if (list == noJson || (draft < 2019 && has(part.value, "$ref")))
      continue;
    std::vector<GoalId> result;
    for (JsonId item : document[list].items) {
      if (document[item].isContainer())
        return {};
      GoalId both = goals.meet(goal, goals.of({item, false, true}));
      if (!isEmpty(both, 1))
        result.push_back(both);
    }
    return result.size() <= most ? result : std::vector<GoalId>();
  }
  return {};
}

} // namespace ingot::runtime::guided
