// SPDX-License-Identifier: Apache-2.0
// What the keywords of JSON Schema let through, drafts 7 to 2020-12, and what their contraries do.
#pragma once

#include "runtime/guided/json/SchemaIndex.h"
#include "runtime/guided/json/Shape.h"

#include <span>
#include <unordered_map>
#include <unordered_set>

namespace ingot::runtime::guided {

/// Shapes of goals, each worked out once. Every keyword binds, beside `type`, `$ref` and `enum` or
/// without them; what is not known, or cannot be told by shapes, is an error with its place. The
/// first error stays; shapes are empty from there on. Of one document, on one thread.
class SchemaMeaning {
public:
  SchemaMeaning(const JsonDocument &document, const SchemaIndex &index, ShapeAlgebra &algebra);

  /// The goal to match the schema at a place of the document.
  GoalId goalOf(JsonId schema, bool negated = false);
  /// What matches; the reference holds until the next call.
  const Shape &shape(GoalId goal);
  /// The place of the first schema of a goal, for messages.
  std::string placeOf(GoalId goal) const;
  JsonId valueOf(GoalId goal) const;
  /// The constants of a goal where an `enum` gives at most `most` of them, none of them an array or
  /// an object; else none.
  std::vector<GoalId> constantsOf(GoalId goal, size_t most);
  /// Whether nothing matches, as far as can be seen `depth` levels down.
  bool isEmpty(const Shape &shape, int depth);
  bool isEmpty(GoalId goal, int depth);

  /// INGOT-E6611: a keyword that is not known or cannot be enforced. INGOT-E6612: a reference.
  /// INGOT-E6614: too large. INGOT-E6601: an expression is too large.
  const Status &status() const;
  Shape refuse(JsonId at, std::string_view what, std::string_view code = "INGOT-E6611");

private:
  /// What a keyword means in a schema; `value` is its value.
  using Reading = Shape (SchemaMeaning::*)(JsonId schema, JsonId value);
  struct Keyword {
    std::string_view name;
    Reading positive, negative; ///< null: it lets everything through
    bool late;                  ///< read after the others, which give the order of members
  };
  static std::span<const Keyword> keywords();
  static const Keyword *find(std::string_view name);
  const Keyword *known(const JsonMember &member);
  bool isOfDraft(const JsonMember &member);
  bool isBesideReference(JsonId schema, const JsonMember &member) const;
  bool isFlag(JsonId value) const;
  bool isExclusive(JsonId schema, std::string_view name) const;

  Shape ofPart(GoalPart part);
  Shape positive(JsonId schema);
  Shape negative(JsonId schema);
  Shape constant(JsonId value);
  Shape notConstant(JsonId value);

  // Helpers of the readings.
  Shape nothing() const { return {}; }
  Shape any() { return algebra.any(); }
  Shape anyBut(uint32_t kinds);
  Shape onlyNumbers(NumberSet set) const;
  Shape onlyStrings(ExpressionId texts) const;
  Shape onlyArrays(ArraySet set) const;
  Shape onlyObjects(ObjectSet set) const;
  Shape withNumbers(NumberSet set);
  Shape withStrings(ExpressionId texts);
  Shape withArrays(ArraySet set);
  Shape withObjects(ObjectSet set);
  ObjectSet openObject() const;
  ObjectSet objectWith(const std::string &name, GoalId goal, bool required) const;
  bool countOf(JsonId value, uint64_t &count);
  bool namesOf(JsonId value, std::vector<std::string> &names);
  bool isKind(JsonId value, JsonValue::Kind kind, std::string_view what);
  bool has(JsonId schema, std::string_view name) const;

  // Any type.
  Shape type(JsonId schema, JsonId value);
  Shape notType(JsonId schema, JsonId value);
  Shape enumeration(JsonId schema, JsonId value);
  Shape notEnumeration(JsonId schema, JsonId value);
  Shape constantKeyword(JsonId schema, JsonId value);
  Shape notConstantKeyword(JsonId schema, JsonId value);
  Shape referred(JsonId value, bool negated);
  Shape reference(JsonId schema, JsonId value);
  Shape notReference(JsonId schema, JsonId value);
  Shape dynamicReference(JsonId schema, JsonId value);
  Shape notDynamicReference(JsonId schema, JsonId value);
  Shape allOf(JsonId schema, JsonId value);
  Shape notAllOf(JsonId schema, JsonId value);
  Shape anyOf(JsonId schema, JsonId value);
  Shape notAnyOf(JsonId schema, JsonId value);
  Shape oneOf(JsonId schema, JsonId value);
  Shape notOneOf(JsonId schema, JsonId value);
  Shape negation(JsonId schema, JsonId value);
  Shape notNegation(JsonId schema, JsonId value);
  Shape conditional(JsonId schema, JsonId value);
  Shape notConditional(JsonId schema, JsonId value);
  Shape branch(JsonId schema, std::string_view name, bool negated);
  Shape dialect(JsonId schema, JsonId value);
  Shape unserved(JsonId schema, JsonId value);
  uint32_t kindsOf(JsonId value);

  // Numbers and strings.
  Shape minimum(JsonId schema, JsonId value);
  Shape notMinimum(JsonId schema, JsonId value);
  Shape maximum(JsonId schema, JsonId value);
  Shape notMaximum(JsonId schema, JsonId value);
  Shape exclusiveMinimum(JsonId schema, JsonId value);
  Shape notExclusiveMinimum(JsonId schema, JsonId value);
  Shape exclusiveMaximum(JsonId schema, JsonId value);
  Shape notExclusiveMaximum(JsonId schema, JsonId value);
  Shape multipleOf(JsonId schema, JsonId value);
  Shape notMultipleOf(JsonId schema, JsonId value);
  Shape minLength(JsonId schema, JsonId value);
  Shape notMinLength(JsonId schema, JsonId value);
  Shape maxLength(JsonId schema, JsonId value);
  Shape notMaxLength(JsonId schema, JsonId value);
  Shape pattern(JsonId schema, JsonId value);
  Shape notPattern(JsonId schema, JsonId value);
  Shape format(JsonId schema, JsonId value);
  Shape notFormat(JsonId schema, JsonId value);
  bool bound(JsonId value, Decimal &number);
  enum class Side { Low, High };
  Shape numbersWithin(JsonId value, Side side, bool exclusive);
  Shape numbersBeyond(JsonId value, Side side, bool exclusive);
  ExpressionId lengths(uint64_t least, uint64_t most);
  ExpressionId patternTexts(std::string_view pattern, JsonId at);
  bool countOfCharacters(JsonId value, uint64_t &count);

  // Arrays.
  Shape items(JsonId schema, JsonId value);
  Shape notItems(JsonId schema, JsonId value);
  Shape minItems(JsonId schema, JsonId value);
  Shape notMinItems(JsonId schema, JsonId value);
  Shape maxItems(JsonId schema, JsonId value);
  Shape notMaxItems(JsonId schema, JsonId value);
  Shape uniqueItems(JsonId schema, JsonId value);
  Shape notUniqueItems(JsonId schema, JsonId value);
  Shape contains(JsonId schema, JsonId value);
  Shape notContains(JsonId schema, JsonId value);
  Shape unevaluatedItems(JsonId schema, JsonId value);
  bool readItems(JsonId schema, ArraySet &set);
  bool containedCounts(JsonId schema, Contained &contained);

  // Objects.
  Shape members(JsonId schema, JsonId value);
  Shape notProperties(JsonId schema, JsonId value);
  Shape notPatternProperties(JsonId schema, JsonId value);
  Shape notAdditionalProperties(JsonId schema, JsonId value);
  Shape demanding(ExpressionId names, GoalId goal) const;
  Shape required(JsonId schema, JsonId value);
  Shape notRequired(JsonId schema, JsonId value);
  Shape minProperties(JsonId schema, JsonId value);
  Shape notMinProperties(JsonId schema, JsonId value);
  Shape maxProperties(JsonId schema, JsonId value);
  Shape notMaxProperties(JsonId schema, JsonId value);
  Shape propertyNames(JsonId schema, JsonId value);
  Shape notPropertyNames(JsonId schema, JsonId value);
  Shape dependencies(JsonId schema, JsonId value);
  Shape notDependencies(JsonId schema, JsonId value);
  Shape unevaluatedProperties(JsonId schema, JsonId value);
  bool readMembers(JsonId schema, ObjectSet &set);
  bool splitByPattern(ObjectSet &set, std::vector<std::string> &names, JsonId patterns);
  Shape hasAll(const std::vector<std::string> &names);

  // What is evaluated.
  /// One way in which the schemas that apply in place may match, and what they have looked at then.
  struct Case {
    Shape shape;
    ExpressionId names; ///< of members
    uint64_t items;     ///< the first ones; noLimit: all
  };
  std::vector<Case> casesOf(JsonId schema, size_t depth);
  std::vector<Case> applied(JsonId schema, const JsonMember &member, size_t depth);
  std::vector<Case> branchCases(const std::vector<JsonId> &branches, bool onlyOne, JsonId at,
                                size_t depth);
  std::vector<Case> eitherCases(const std::vector<Case> &holds, JsonId then, Shape fails,
                                JsonId otherwise, JsonId at, size_t depth);
  std::vector<Case> both(const std::vector<Case> &left, const std::vector<Case> &right, JsonId at);
  Case ownCase(JsonId schema, bool outermost);

  const JsonDocument &document;
  const SchemaIndex &index;
  ShapeAlgebra &algebra;
  ExpressionArena &arena;
  Goals &goals;
  unsigned draft; ///< that `$schema` names: 3 to 7, 2019, 2020
  Status failure;
  std::unordered_map<GoalId, Shape> shapes;
  std::unordered_map<uint64_t, Shape> parts; ///< by the code of a part
  std::unordered_set<uint64_t> underWay;
  bool hasContains = false; ///< met while cases were looked for
  std::unordered_map<std::string, ExpressionId> patterns, formats;
};

} // namespace ingot::runtime::guided
