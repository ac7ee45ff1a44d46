// SPDX-License-Identifier: Apache-2.0
// Keywords of arrays.
#include "runtime/guided/json/SchemaMeaning.h"

#include <algorithm>

namespace ingot::runtime::guided {

using Kind = JsonValue::Kind;

/// `prefixItems` and `items`, or `items` as a list and `additionalItems`, as draft 7 has them.
bool SchemaMeaning::readItems(JsonId schema, ArraySet &set) {
  JsonId first = document.member(schema, "prefixItems"), rest = document.member(schema, "items");
  if (rest != noJson && document[rest].kind == Kind::Array) {
    if (first != noJson) {
      refuse(rest, "'items' is a list beside 'prefixItems'");
      return false;
    }
    first = rest;
    rest = document.member(schema, "additionalItems");
  }
  if (first != noJson && !isKind(first, Kind::Array, "an array of schemas"))
    return false;
  if (first != noJson)
    for (JsonId item : document[first].items)
      set.first.push_back(goalOf(item));
  if (rest != noJson)
    set.rest = goalOf(rest);
  return algebra.spend(set.first.size());
}

Shape SchemaMeaning::items(JsonId schema, JsonId value) {
  ArraySet set;
  return readItems(schema, set) ? withArrays(std::move(set)) : nothing();
}

/// An item does not match. Called for each keyword of the group: the same again.
Shape SchemaMeaning::notItems(JsonId schema, JsonId value) {
  ArraySet set;
  if (!readItems(schema, set))
    return {};
  Shape shape;
  for (size_t i = 0; i < set.first.size(); ++i) {
    ArraySet other;
    JsonId first = document.member(schema, "prefixItems");
    first = first == noJson ? document.member(schema, "items") : first;
    other.first.assign(i + 1, anyGoal);
    other.first[i] = goalOf(document[first].items[i], true);
    other.least = i + 1;
    ShapeAlgebra::join(arena, shape, onlyArrays(std::move(other)));
  }
  if (set.rest == anyGoal)
    return shape;
  ArraySet other;
  other.least = set.first.size() + 1;
  if (set.rest != noGoal && !set.first.empty())
    return refuse(value, "the contrary of 'items' behind a list of items cannot be enforced");
  if (set.rest != noGoal) {
    GoalId negated = goalOf(document.member(schema, "items"), true);
    other.contained.push_back({negated, set.rest, 1, noLimit});
  }
  ShapeAlgebra::join(arena, shape, onlyArrays(std::move(other)));
  return shape;
}

Shape SchemaMeaning::minItems(JsonId schema, JsonId value) {
  ArraySet set;
  return countOf(value, set.least) ? withArrays(std::move(set)) : nothing();
}

Shape SchemaMeaning::notMinItems(JsonId schema, JsonId value) {
  ArraySet set;
  if (!countOf(value, set.most) || set.most == 0)
    return {};
  --set.most;
  return onlyArrays(std::move(set));
}

Shape SchemaMeaning::maxItems(JsonId schema, JsonId value) {
  ArraySet set;
  return countOf(value, set.most) ? withArrays(std::move(set)) : nothing();
}

Shape SchemaMeaning::notMaxItems(JsonId schema, JsonId value) {
  ArraySet set;
  if (!countOf(value, set.least))
    return {};
  ++set.least;
  return onlyArrays(std::move(set));
}

Shape SchemaMeaning::uniqueItems(JsonId schema, JsonId value) {
  if (!document[value].isBoolean())
    return refuse(value, "'uniqueItems' must be true or false");
  ArraySet set;
  set.distinct = document[value].kind == Kind::True;
  return withArrays(std::move(set));
}

Shape SchemaMeaning::notUniqueItems(JsonId schema, JsonId value) {
  if (document[value].kind == Kind::False)
    return {};
  return unserved(schema, value);
}

/// `minContains` and `maxContains`; 1 and no limit where absent.
bool SchemaMeaning::containedCounts(JsonId schema, Contained &contained) {
  JsonId least = document.member(schema, "minContains");
  JsonId most = document.member(schema, "maxContains");
  contained.least = 1;
  contained.most = noLimit;
  return (least == noJson || countOf(least, contained.least)) &&
         (most == noJson || countOf(most, contained.most));
}

Shape SchemaMeaning::contains(JsonId schema, JsonId value) {
  Contained contained{goalOf(value), goalOf(value, true), 0, 0};
  if (!containedCounts(schema, contained))
    return {};
  ArraySet set;
  if (contained.least > 0 || contained.most != noLimit)
    set.contained.push_back(contained);
  if (contained.goal == anyGoal) {
    set.contained.clear();
    set.least = contained.least;
    set.most = contained.most;
  } else if (contained.goal == noGoal) {
    set.contained.clear();
    set.most = contained.least ? 0 : noLimit;
    set.least = contained.least ? 1 : 0;
  }
  return withArrays(std::move(set));
}

/// Fewer match than `minContains`, or more than `maxContains`.
Shape SchemaMeaning::notContains(JsonId schema, JsonId value) {
  Contained contained{goalOf(value), goalOf(value, true), 0, 0};
  if (!containedCounts(schema, contained))
    return {};
  Shape shape;
  if (contained.least == 1) {
    ArraySet set;
    set.rest = contained.otherwise;
    shape = onlyArrays(std::move(set));
  } else if (contained.least > 1) {
    ArraySet set;
    set.contained.push_back({contained.goal, contained.otherwise, 0, contained.least - 1});
    shape = onlyArrays(std::move(set));
  }
  if (contained.most != noLimit) {
    ArraySet set;
    set.least = contained.most + 1;
    set.contained.push_back({contained.goal, contained.otherwise, contained.most + 1, noLimit});
    ShapeAlgebra::join(arena, shape, onlyArrays(std::move(set)));
  }
  return shape;
}

} // namespace ingot::runtime::guided
