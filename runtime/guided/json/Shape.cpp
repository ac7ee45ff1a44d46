// SPDX-License-Identifier: Apache-2.0
// Intersections of shapes, type by type and alternative by alternative.
#include "runtime/guided/json/Shape.h"

#include "runtime/guided/Characters.h"
#include "runtime/guided/json/JsonSpelling.h"

#include <algorithm>

namespace ingot::runtime::guided {

Goals::Goals() {
  intern({});
  sets.push_back({~uint64_t(0)}); // noGoal: a part that none has
}

GoalId Goals::intern(std::vector<uint64_t> codes) {
  std::string key(reinterpret_cast<const char *>(codes.data()), codes.size() * sizeof(uint64_t));
  auto [place, isNew] = index.emplace(std::move(key), GoalId(sets.size()));
  if (isNew)
    sets.push_back(std::move(codes));
  return place->second;
}

GoalId Goals::of(GoalPart part) { return intern({part.code()}); }

GoalId Goals::meet(GoalId left, GoalId right) {
  if (left == right || right == anyGoal)
    return left;
  if (left == anyGoal)
    return right;
  if (left == noGoal || right == noGoal)
    return noGoal;
  std::vector<uint64_t> codes;
  std::set_union(sets[left].begin(), sets[left].end(), sets[right].begin(), sets[right].end(),
                 std::back_inserter(codes));
  for (size_t i = 1; i < codes.size(); ++i)
    if (codes[i - 1] == (codes[i] & ~uint64_t(2)) && codes[i] & 2)
      return noGoal;
  return intern(std::move(codes));
}

std::vector<GoalPart> Goals::parts(GoalId id) const {
  std::vector<GoalPart> result;
  for (uint64_t code : sets[id])
    result.push_back({uint32_t(code >> 2), bool(code & 2), bool(code & 1)});
  return result;
}

ShapeAlgebra::ShapeAlgebra(ExpressionArena &arena, Goals &goals, Spelling spelling)
    : arena(arena), goals(goals), spelling(spelling),
      text(arena.star(spelled(arena, CharacterSet::all(), spelling))) {}

bool ShapeAlgebra::spend(size_t steps) {
  spent += steps;
  if (spent > mostWork && failure.ok())
    failure = Status::error("INGOT-E6614", "the schema combines too many alternatives and members");
  return failure.ok();
}

Shape ShapeAlgebra::any() const {
  Shape shape;
  shape.null = shape.no = shape.yes = true;
  shape.numbers.emplace_back();
  shape.strings = text;
  shape.arrays.emplace_back();
  shape.objects.emplace_back().others.push_back({text, anyGoal});
  return shape;
}

bool holdsNumbers(const NumberSet &set) {
  if (!set.low || !set.high)
    return true;
  int order = set.low->compare(*set.high);
  return order < 0 || (order == 0 && !set.lowExclusive && !set.highExclusive);
}

bool settle(ArraySet &set) {
  for (size_t i = 0; i < set.first.size(); ++i)
    if (set.first[i] == noGoal)
      set.first.resize(i), set.rest = noGoal;
  if (set.rest == noGoal)
    set.most = std::min<uint64_t>(set.most, set.first.size());
  if (set.first.size() > set.most)
    set.first.resize(set.most);
  for (const Contained &contained : set.contained)
    if (contained.least > contained.most || contained.least > set.most)
      return false;
  return set.least <= set.most;
}

bool settle(ObjectSet &set) {
  size_t required = 0;
  for (const ObjectMember &member : set.members) {
    if (member.required && member.goal == noGoal)
      return false;
    required += member.required;
  }
  std::erase_if(set.others, [](const NameClass &entry) { return entry.goal == noGoal; });
  for (const MemberDemand &demand : set.demands)
    if (demand.goal == noGoal)
      return false;
  set.least =
      std::max<uint64_t>(set.least, set.demands.empty() ? required : std::max<size_t>(required, 1));
  return set.least <= set.most;
}

/// Appends what is not there yet.
template <class Entry>
static void addMissing(std::vector<Entry> &list, const std::vector<Entry> &more) {
  for (const Entry &entry : more)
    if (std::find(list.begin(), list.end(), entry) == list.end())
      list.push_back(entry);
}

bool ShapeAlgebra::meetNumbers(const NumberSet &left, const NumberSet &right, NumberSet &result) {
  result = left;
  if (right.low) {
    int order = result.low ? right.low->compare(*result.low) : 1;
    if (order >= 0) {
      result.lowExclusive = right.lowExclusive || (order == 0 && result.lowExclusive);
      result.low = right.low;
    }
  }
  if (right.high) {
    int order = result.high ? right.high->compare(*result.high) : -1;
    if (order <= 0) {
      result.highExclusive = right.highExclusive || (order == 0 && result.highExclusive);
      result.high = right.high;
    }
  }
  using Whole = NumberSet::Whole;
  if (left.whole == Whole::Either)
    result.whole = right.whole;
  else if (right.whole != Whole::Either && right.whole != left.whole)
    return false;
  addMissing(result.multiples, right.multiples);
  addMissing(result.nonMultiples, right.nonMultiples);
  return holdsNumbers(result);
}

bool ShapeAlgebra::meetArrays(const ArraySet &left, const ArraySet &right, ArraySet &result) {
  size_t count = std::max(left.first.size(), right.first.size());
  auto at = [](const ArraySet &set, size_t i) {
    return i < set.first.size() ? set.first[i] : set.rest;
  };
  if (!spend(count + 1))
    return false;
  for (size_t i = 0; i < count; ++i)
    result.first.push_back(goals.meet(at(left, i), at(right, i)));
  result.rest = goals.meet(left.rest, right.rest);
  result.least = std::max(left.least, right.least);
  result.most = std::min(left.most, right.most);
  result.distinct = left.distinct || right.distinct;
  result.contained = left.contained;
  addMissing(result.contained, right.contained);
  return settle(result);
}

GoalId ShapeAlgebra::otherGoal(const ObjectSet &set, const std::string &name) {
  std::string written;
  for (const NameClass &entry : set.others) {
    if (entry.names == text)
      return entry.goal;
    if (written.empty())
      written = plainSpelling(name, spelling);
    if (arena.matches(entry.names, written))
      return entry.goal;
  }
  return noGoal;
}

bool ShapeAlgebra::meetObjects(const ObjectSet &left, const ObjectSet &right, ObjectSet &result) {
  if (!spend(left.members.size() + right.members.size() + 1))
    return false;
  std::unordered_map<std::string_view, const ObjectMember *> byName;
  for (const ObjectMember &member : right.members)
    byName.emplace(member.name, &member);
  for (const ObjectMember &member : left.members) {
    auto found = byName.find(member.name);
    bool isShared = found != byName.end();
    GoalId other = isShared ? found->second->goal : otherGoal(right, member.name);
    bool required = member.required || (isShared && found->second->required);
    result.members.push_back({member.name, goals.meet(member.goal, other), required});
    if (isShared)
      byName.erase(found);
  }
  for (const ObjectMember &member : right.members)
    if (byName.contains(member.name))
      result.members.push_back(
          {member.name, goals.meet(member.goal, otherGoal(left, member.name)), member.required});
  for (const NameClass &one : left.others)
    for (const NameClass &two : right.others) {
      ExpressionId names = one.names == two.names || two.names == text ? one.names
                           : one.names == text ? two.names
                                               : arena.intersection(one.names, two.names);
      bool isKnown = names == one.names || names == two.names;
      if (names != ExpressionArena::nothing && (isKnown || !arena.isEmpty(names)))
        result.others.push_back(
            {names, goals.meet(one.goal, two.goal), one.implied && two.implied});
    }
  result.demands = left.demands;
  addMissing(result.demands, right.demands);
  result.least = std::max(left.least, right.least);
  result.most = std::min(left.most, right.most);
  return spend(result.others.size()) && settle(result);
}

/// Every pair of alternatives, those left out that hold nothing or are there already.
template <class Set, class Meet>
static void product(const std::vector<Set> &left, const std::vector<Set> &right,
                    std::vector<Set> &into, const Meet &meet) {
  for (const Set &one : left)
    for (const Set &two : right) {
      Set both;
      if (meet(one, two, both) && into.size() <= ShapeAlgebra::mostAlternatives &&
          (into.size() > 64 || std::find(into.begin(), into.end(), both) == into.end()))
        into.push_back(std::move(both));
    }
}

Shape ShapeAlgebra::meet(const Shape &left, const Shape &right) {
  Shape shape;
  shape.null = left.null && right.null;
  shape.no = left.no && right.no;
  shape.yes = left.yes && right.yes;
  product(left.numbers, right.numbers, shape.numbers,
          [&](const NumberSet &a, const NumberSet &b, NumberSet &c) {
            return spend(1) && meetNumbers(a, b, c);
          });
  product(left.arrays, right.arrays, shape.arrays,
          [&](const ArraySet &a, const ArraySet &b, ArraySet &c) { return meetArrays(a, b, c); });
  product(
      left.objects, right.objects, shape.objects,
      [&](const ObjectSet &a, const ObjectSet &b, ObjectSet &c) { return meetObjects(a, b, c); });
  shape.strings = left.strings == text    ? right.strings
                  : right.strings == text ? left.strings
                                          : arena.intersection(left.strings, right.strings);
  if (std::max({shape.numbers.size(), shape.arrays.size(), shape.objects.size()}) >
      mostAlternatives)
    spend(mostWork);
  return shape;
}

void ShapeAlgebra::join(ExpressionArena &arena, Shape &into, const Shape &other) {
  into.null |= other.null;
  into.no |= other.no;
  into.yes |= other.yes;
  auto add = [](auto &list, const auto &more) {
    for (const auto &entry : more)
      if (list.size() > 256 || std::find(list.begin(), list.end(), entry) == list.end())
        list.push_back(entry);
  };
  add(into.numbers, other.numbers);
  add(into.arrays, other.arrays);
  add(into.objects, other.objects);
  into.strings = arena.alternation(into.strings, other.strings);
}

} // namespace ingot::runtime::guided
