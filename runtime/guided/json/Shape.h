// SPDX-License-Identifier: Apache-2.0
// What values a schema lets through, sorted by type: unions of intersections, one level deep. What
// is below (members, items) is a goal: a conjunction of schemas not looked into yet.
#pragma once

#include "runtime/guided/Characters.h"
#include "runtime/guided/json/Decimal.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ingot::runtime::guided {

/// Schemas that a value has to match or not to match, all of them: an index into Goals.
using GoalId = uint32_t;
constexpr GoalId anyGoal = 0; ///< every value
constexpr GoalId noGoal = 1;  ///< no value

constexpr uint64_t noLimit = ~uint64_t(0);

/// Numbers within bounds, absent where there are none.
struct NumberSet {
  enum class Whole : uint8_t { Either, Only, Never };

  std::optional<Decimal> low, high;
  bool lowExclusive = false, highExclusive = false;
  Whole whole = Whole::Either;
  std::vector<Decimal> multiples;    ///< positive; a multiple of each
  std::vector<Decimal> nonMultiples; ///< positive; a multiple of none

  bool operator==(const NumberSet &) const = default;
};

/// At least `least` and at most `most` items match `goal`; `otherwise` is its negation, used where
/// `most` bounds.
struct Contained {
  GoalId goal, otherwise;
  uint64_t least, most;

  bool operator==(const Contained &) const = default;
};

/// Arrays of `least` to `most` items.
struct ArraySet {
  std::vector<GoalId> first; ///< of the first items, each
  GoalId rest = anyGoal;     ///< of the items behind
  uint64_t least = 0, most = noLimit;
  bool distinct = false;
  std::vector<Contained> contained;

  bool operator==(const ArraySet &) const = default;
};

/// A member by its name. noGoal: it must not be there.
struct ObjectMember {
  std::string name;
  GoalId goal;
  bool required;

  bool operator==(const ObjectMember &) const = default;
};

/// Members of all names that match.
struct NameClass {
  ExpressionId names; ///< in the spelling of the algebra
  GoalId goal;
  bool implied = true; ///< no keyword says that there are such members

  bool operator==(const NameClass &) const = default;
};

/// At least one member with such a name has such a value.
struct MemberDemand {
  ExpressionId names; ///< in the spelling of the algebra
  GoalId goal;

  bool operator==(const MemberDemand &) const = default;
};

/// Objects of `least` to `most` members.
struct ObjectSet {
  std::vector<ObjectMember> members; ///< in the order in which they are written
  std::vector<NameClass> others;     ///< disjoint; of the names not in `members`; else none
  std::vector<MemberDemand> demands;
  uint64_t least = 0, most = noLimit;

  bool operator==(const ObjectSet &) const = default;
};

/// The union of what its parts allow.
struct Shape {
  bool null = false, no = false, yes = false;
  std::vector<NumberSet> numbers;
  ExpressionId strings = ExpressionArena::nothing; ///< in the spelling of the algebra
  std::vector<ArraySet> arrays;
  std::vector<ObjectSet> objects;

  bool none() const {
    return !null && !no && !yes && numbers.empty() && strings == ExpressionArena::nothing &&
           arrays.empty() && objects.empty();
  }
};

/// A schema of the document, by its value, that has to be matched or not.
struct GoalPart {
  uint32_t value;
  bool negated = false;
  bool constant = false; ///< `value` is no schema but the only value that matches

  uint64_t code() const { return uint64_t(value) << 2 | uint64_t(negated) << 1 | constant; }
};

/// Conjunctions, each once.
class Goals {
public:
  Goals();

  GoalId of(GoalPart part);
  /// Both; noGoal where they say the contrary of one another.
  GoalId meet(GoalId left, GoalId right);
  std::vector<GoalPart> parts(GoalId id) const;
  size_t size() const { return sets.size(); }

private:
  GoalId intern(std::vector<uint64_t> codes);

  std::vector<std::vector<uint64_t>> sets; ///< sorted codes
  std::unordered_map<std::string, GoalId> index;
};

/// Intersections and unions of shapes.
class ShapeAlgebra {
public:
  /// `spelling`: of strings and of the names of members.
  ShapeAlgebra(ExpressionArena &arena, Goals &goals, Spelling spelling = Spelling::JsonString);

  /// Every value.
  Shape any() const;
  Shape meet(const Shape &left, const Shape &right);
  static void join(ExpressionArena &arena, Shape &into, const Shape &other);

  /// Alternatives and members of one shape, and of all shapes together; INGOT-E6614 past them.
  static constexpr size_t mostAlternatives = 2048;
  static constexpr size_t mostWork = 1500000;

  const Status &status() const { return failure; }
  /// Counts steps of work against the limit; false past it.
  bool spend(size_t steps);

  ExpressionArena &arena;
  Goals &goals;
  const Spelling spelling;
  ExpressionId text; ///< every text, spelled so

  /// The goal of the members named so that are not in `set.members`.
  GoalId otherGoal(const ObjectSet &set, const std::string &name);

private:
  bool meetNumbers(const NumberSet &left, const NumberSet &right, NumberSet &result);
  bool meetArrays(const ArraySet &left, const ArraySet &right, ArraySet &result);
  bool meetObjects(const ObjectSet &left, const ObjectSet &right, ObjectSet &result);

  Status failure;
  size_t spent = 0;
};

/// Whether bounds leave a number; exact but for `multiples`.
bool holdsNumbers(const NumberSet &set);
/// Whether counts leave an array or object; takes noGoal into account, no deeper.
bool settle(ArraySet &set);
bool settle(ObjectSet &set);

} // namespace ingot::runtime::guided
