// SPDX-License-Identifier: Apache-2.0
// Rules for the members of objects: a chain in which each member may be skipped that may be absent,
// so that their number is paid once.
#include "runtime/guided/json/JsonSpelling.h"
#include "runtime/guided/json/ShapeGrammar.h"

#include <algorithm>

namespace ingot::runtime::guided {

/// Names that are not the schema's may come twice, and then count once: a count is exact only where
/// it needs one of them at most.
bool ShapeGrammar::canCount(const ObjectSet &set, GoalId goal) {
  uint64_t required = 0;
  for (const ObjectMember &member : set.members)
    required += member.required;
  if (set.others.empty() || set.least <= required + 1)
    return true;
  meaning.refuse(meaning.valueOf(goal), "'minProperties' cannot be enforced where it takes two "
                                        "members or more that have no name in the schema");
  return false;
}

void ShapeGrammar::nameMembers(ObjectRules &rules) {
  ExpressionId colon = arena.concatenation(spaced(":", ""), spaces());
  ExpressionId quote = arena.literal("\"");
  std::vector<std::string> all;
  for (const ObjectMember &member : rules.set.members) {
    all.push_back(member.name);
    rules.names.push_back(builder.terminal(
        arena.concatenation({quote, writtenText(arena, member.name), quote, colon})));
  }
  if (rules.set.others.empty())
    return;
  ExpressionId taken = anySpelling(arena, all);
  for (const NameClass &entry : rules.set.others) {
    ExpressionId names = all.empty() ? entry.names : arena.difference(entry.names, taken);
    rules.otherNames.push_back(
        builder.terminal(arena.concatenation({quote, names, quote, colon})));
  }
}

Symbol ShapeGrammar::place(ObjectRules &rules, MemberPlace at, bool isBehind) {
  at.count = std::min(at.count, rules.counted);
  auto &table = isBehind ? rules.behind : rules.begin;
  auto [found, isNew] = table.try_emplace(at);
  if (isNew) {
    found->second = builder.rule();
    rules.todo.push_back({at.next * 2 + isBehind, at.count});
  }
  return found->second;
}

/// Behind a member: the end, or a comma. Before one: the next, or that which follows it.
void ShapeGrammar::writePlace(ObjectRules &rules, MemberPlace at, bool isBehind) {
  const ObjectSet &set = rules.set;
  Symbol rule = (isBehind ? rules.behind : rules.begin).at(at);
  if (isBehind) {
    if (rules.requiredBehind[at.next] == 0 && at.count >= set.least)
      builder.add(rule, {close[1]});
    if ((at.next < set.members.size() || !set.others.empty()) &&
        (set.most == noLimit || at.count < set.most))
      builder.add(rule, {comma, place(rules, at, false)});
    return;
  }
  if (at.next < set.members.size()) {
    const ObjectMember &member = set.members[at.next];
    if (member.goal != noGoal)
      builder.add(rule, {rules.names[at.next], ruleOf(member.goal),
                         place(rules, {at.next + 1, at.count + 1}, true)});
    if (!member.required)
      builder.add(rule, {place(rules, {at.next + 1, at.count}, false)});
    return;
  }
  for (size_t i = 0; i < set.others.size(); ++i)
    builder.add(rule, {rules.otherNames[i], ruleOf(set.others[i].goal),
                       place(rules, {at.next, at.count + 1}, true)});
}

void ShapeGrammar::writeObject(Symbol rule, const ObjectSet &whole, GoalId goal) {
  if (!canCount(whole, goal))
    return;
  ObjectSet set = whole;
  std::vector<size_t> requiredBehind(set.members.size() + 1);
  for (size_t i = set.members.size(); i-- > 0;)
    requiredBehind[i] = requiredBehind[i + 1] + set.members[i].required;
  // Counts that always hold are not counted.
  if (set.others.empty() && set.most >= set.members.size())
    set.most = noLimit;
  if (set.least <= requiredBehind[0])
    set.least = 0;
  if (set.least == 0 && requiredBehind[0] == 0)
    builder.add(rule, {empty[1]});
  if (set.most == 0)
    return;
  uint64_t counted = set.most != noLimit ? set.most : set.least;
  ObjectRules rules{set, {}, {}, std::move(requiredBehind), counted, {}, {}, {}};
  nameMembers(rules);
  builder.add(rule, {open[1], place(rules, {0, 0}, false)});
  while (!rules.todo.empty() && meaning.status().ok()) {
    MemberPlace at = rules.todo.back();
    rules.todo.pop_back();
    writePlace(rules, {at.next / 2, at.count}, at.next % 2);
    if (counted && !spendRules(rules.begin.size(), goal))
      return;
  }
}

} // namespace ingot::runtime::guided
