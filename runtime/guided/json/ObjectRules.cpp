// SPDX-License-Identifier: Apache-2.0
// Rules for the members of objects: a chain in which each member may be skipped that may be absent,
// so that their number is paid once.
#include "runtime/guided/json/JsonSpelling.h"
#include "runtime/guided/json/ShapeGrammar.h"

#include <algorithm>

namespace ingot::runtime::guided {

/// Demands of one object: its rules are by the set of those that are met.
constexpr size_t mostDemands = 4;
/// Names that are few: the rules are by the set of those that are used, so that a comma is never
/// behind the last one.
constexpr size_t mostSingles = 10;

/// Names that are not the schema's may come twice, and then count once: a count is exact only where
/// it needs one of them at most.
bool ShapeGrammar::canCount(const ObjectSet &set, GoalId goal) {
  uint64_t required = 0;
  for (const ObjectMember &member : set.members)
    required += member.required;
  if (form.uniqueNames || set.others.empty() || set.least <= required + 1)
    return true;
  meaning.refuse(meaning.valueOf(goal), "'minProperties' cannot be enforced where it takes two "
                                        "members or more that have no name in the schema");
  return false;
}

/// Of a name that cannot be written: what derives nothing.
Symbol ShapeGrammar::nameSymbol(const ObjectStyle &style, const std::string &name) {
  if (!arena.matches(style.names, plainSpelling(name, algebra.spelling)))
    return builder.rule();
  return builder.terminal(arena.concatenation(
      {style.beforeName, writtenText(arena, name, algebra.spelling), style.afterName}));
}

uint32_t ShapeGrammar::mayMeet(const ObjectSet &set, const std::string &name) {
  uint32_t demands = 0;
  for (size_t i = 0; i < set.demands.size(); ++i)
    if (arena.matches(set.demands[i].names, plainSpelling(name, algebra.spelling)))
      demands |= 1u << i;
  return demands;
}

void ShapeGrammar::nameMembers(ObjectRules &rules) {
  for (const ObjectMember &member : rules.set.members) {
    rules.names.push_back(nameSymbol(rules.style, member.name));
    rules.mayMeet.push_back(mayMeet(rules.set, member.name));
  }
  if (!rules.set.others.empty())
    nameSingles(rules);
  if (!rules.set.others.empty())
    nameOthers(rules);
}

/// Takes the classes of few names out of the others.
void ShapeGrammar::nameSingles(ObjectRules &rules) {
  std::vector<std::string> all;
  for (const ObjectMember &member : rules.set.members)
    all.push_back(member.name);
  ExpressionId taken = anySpelling(arena, all, algebra.spelling);
  std::erase_if(rules.set.others, [&](const NameClass &entry) {
    if (entry.names == algebra.text)
      return false;
    auto names = fewTexts(arena, arena.difference(entry.names, taken),
                          mostSingles - rules.single.size(), algebra.spelling);
    for (size_t i = 0; names && i < names->size(); ++i)
      rules.single.push_back(
          {nameSymbol(rules.style, (*names)[i]), entry.goal, mayMeet(rules.set, (*names)[i])});
    return names.has_value();
  });
}

/// Names that are not the schema's; for every set of demands those that all of them look for.
void ShapeGrammar::nameOthers(ObjectRules &rules) {
  const ObjectStyle &style = rules.style;
  std::vector<std::string> all;
  for (const ObjectMember &member : rules.set.members)
    all.push_back(member.name);
  ExpressionId taken = anySpelling(arena, all, algebra.spelling);
  for (const NameClass &entry : rules.set.others) {
    ExpressionId free = all.empty() ? entry.names : arena.difference(entry.names, taken);
    free = arena.intersection(free, style.names);
    std::vector<Symbol> &symbols = rules.otherNames.emplace_back();
    for (uint32_t met = 0; met < 1u << rules.set.demands.size(); ++met) {
      ExpressionId names = free;
      for (size_t i = 0; i < rules.set.demands.size(); ++i)
        if (met >> i & 1)
          names = arena.intersection(names, rules.set.demands[i].names);
      symbols.push_back(
          builder.terminal(arena.concatenation({style.beforeName, names, style.afterName})));
    }
  }
}

GoalId ShapeGrammar::demanded(const ObjectSet &set, GoalId goal, uint32_t met) {
  for (size_t i = 0; i < set.demands.size(); ++i)
    if (met >> i & 1)
      goal = algebra.goals.meet(goal, set.demands[i].goal);
  return goal;
}

Symbol ShapeGrammar::place(ObjectRules &rules, MemberPlace at, bool isBehind) {
  at.count = std::min(at.count, rules.counted);
  auto &table = isBehind ? rules.behind : rules.begin;
  auto [found, isNew] = table.try_emplace(at);
  if (isNew) {
    found->second = builder.rule();
    rules.todo.push_back({at.next * 2 + isBehind, at.count, at.met, at.used});
  }
  return found->second;
}

/// Behind a member: the end, or a comma. Before one: the next, or that which follows it.
void ShapeGrammar::writePlace(ObjectRules &rules, MemberPlace at, bool isBehind) {
  const ObjectSet &set = rules.set;
  Symbol rule = (isBehind ? rules.behind : rules.begin).at(at);
  const uint32_t all = (1u << set.demands.size()) - 1;
  if (isBehind) {
    if (rules.requiredBehind[at.next] == 0 && at.count >= set.least && at.met == all)
      builder.add(rule, {rules.style.close});
    if ((at.next < set.members.size() || !set.others.empty() || !rules.single.empty()) &&
        (set.most == noLimit || at.count < set.most))
      builder.add(rule, {rules.style.comma, place(rules, at, false)});
    return;
  }
  if (at.next < set.members.size()) {
    const ObjectMember &member = set.members[at.next];
    uint32_t may = rules.mayMeet[at.next] & ~at.met;
    for (uint32_t met = 0; met <= all; ++met)
      if (GoalId goal = demanded(set, member.goal, met); goal != noGoal && (met & ~may) == 0)
        builder.add(rule, {rules.names[at.next], rules.style.valueOf(goal),
                           place(rules, {at.next + 1, at.count + 1, at.met | met}, true)});
    if (!member.required)
      builder.add(rule, {place(rules, {at.next + 1, at.count, at.met}, false)});
    return;
  }
  for (size_t i = 0; i < set.others.size(); ++i)
    for (uint32_t met = 0; met <= all; ++met)
      if (GoalId goal = demanded(set, set.others[i].goal, met); goal != noGoal && !(met & at.met))
        builder.add(rule, {rules.otherNames[i][met], rules.style.valueOf(goal),
                           place(rules, {at.next, at.count + 1, at.met | met, at.used}, true)});
  for (size_t i = 0; i < rules.single.size(); ++i)
    for (uint32_t met = 0; met <= all; ++met)
      if (GoalId goal = demanded(set, rules.single[i].goal, met);
          goal != noGoal && !(at.used >> i & 1) && !(met & ~(rules.single[i].mayMeet & ~at.met)))
        builder.add(rule,
                    {rules.single[i].name, rules.style.valueOf(goal),
                     place(rules, {at.next, at.count + 1, at.met | met, at.used | 1u << i}, true)});
}

void ShapeGrammar::writeObject(Symbol rule, const ObjectSet &whole, GoalId goal,
                               const ObjectStyle &written) {
  ObjectSet set = whole;
  bool hasMembers = std::any_of(set.members.begin(), set.members.end(),
                                [](const ObjectMember &member) { return member.goal != noGoal; });
  if (form.closed && hasMembers)
    std::erase_if(set.others, [](const NameClass &entry) { return entry.implied; });
  if (set.demands.size() > mostDemands) {
    meaning.refuse(meaning.valueOf(goal), "more than 4 contraries of keywords of objects apply");
    return;
  }
  if (!canCount(set, goal))
    return;
  std::vector<size_t> requiredBehind(set.members.size() + 1);
  for (size_t i = set.members.size(); i-- > 0;)
    requiredBehind[i] = requiredBehind[i + 1] + set.members[i].required;
  // Counts that always hold are not counted.
  if (set.others.empty() && set.most >= set.members.size())
    set.most = noLimit;
  if (set.least <= requiredBehind[0])
    set.least = 0;
  if (set.least == 0 && requiredBehind[0] == 0)
    builder.add(rule, {written.empty});
  if (set.most == 0)
    return;
  uint64_t counted = set.most != noLimit ? set.most : set.least;
  ObjectRules rules{set, written, {}, {}, {}, {}, std::move(requiredBehind), counted, {}, {}, {}};
  nameMembers(rules);
  builder.add(rule, {written.open, place(rules, {0, 0, 0}, false)});
  while (!rules.todo.empty() && meaning.status().ok()) {
    MemberPlace at = rules.todo.back();
    rules.todo.pop_back();
    writePlace(rules, {at.next / 2, at.count, at.met, at.used}, at.next % 2);
    if ((counted || !set.demands.empty() || !rules.single.empty()) &&
        !spendRules(rules.begin.size(), goal))
      return;
  }
}

} // namespace ingot::runtime::guided
