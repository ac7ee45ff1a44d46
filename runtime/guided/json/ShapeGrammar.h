// SPDX-License-Identifier: Apache-2.0
// Writes shapes as rules of a grammar, one rule for each goal.
#pragma once

#include "runtime/guided/Grammar.h"
#include "runtime/guided/json/JsonForm.h"
#include "runtime/guided/json/SchemaMeaning.h"

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ingot::runtime::guided {

/// How the members of an object are written.
struct ObjectStyle {
  Symbol open, close, empty; ///< `empty`: of an object without members
  Symbol comma;              ///< between two members
  ExpressionId beforeName = ExpressionArena::empty, afterName = ExpressionArena::empty;
  ExpressionId names = ExpressionArena::anything; ///< those that can be written
  /// The rule of a member's value, by its goal.
  std::function<Symbol(GoalId)> valueOf;
};

/// For one grammar. Lists of items and members are rules that recur to the right, each with the
/// closing bracket in it.
class ShapeGrammar {
public:
  ShapeGrammar(GrammarBuilder &builder, SchemaMeaning &meaning, ShapeAlgebra &algebra,
               const JsonForm &form);

  /// The rule of a goal; its alternatives come with finish().
  Symbol ruleOf(GoalId goal) { return ruleOf(Wanted{goal}); }
  /// The same without the strings that match.
  Symbol ruleWithoutStrings(GoalId goal) { return ruleOf(Wanted{goal, false}); }
  /// A rule of the objects that match, written so.
  Symbol objectRule(GoalId goal, const ObjectStyle &style);
  /// As they are in the values of this grammar.
  const ObjectStyle &objectStyle() const { return style; }
  /// Writes the rules of all goals that are asked for, those of their parts too.
  Status finish();
  /// The deepest goal that no value matches and that is the reason why none matches `root`.
  GoalId impossible(GoalId root, const std::vector<bool> &productive);

  /// What stands at both ends of a text.
  Symbol space();

private:
  struct Wanted {
    GoalId goal;
    bool strings = true;
    uint64_t key() const { return uint64_t(goal) << 1 | strings; }
  };
  /// Counts of a list of items so far: how many, and how many match each `contained`.
  using Counts = std::vector<uint64_t>;
  /// A list of members: the next one that may come, and how many there are as far as counted.
  struct MemberPlace {
    size_t next;
    uint64_t count;
    uint32_t met;      ///< a bit for each demand that a member has met
    uint32_t used = 0; ///< a bit for each of `ObjectRules::single` that is there
    auto operator<=>(const MemberPlace &) const = default;
  };
  /// One of few names that no member has, which may come anywhere behind the members.
  struct SingleName {
    Symbol name; ///< with the colon
    GoalId goal;
    uint32_t mayMeet; ///< demands
  };
  /// One object's rules while they are written.
  struct ObjectRules {
    ObjectSet &set;
    const ObjectStyle &style;
    std::vector<Symbol> names;                   ///< with the colon, of `set.members`
    std::vector<std::vector<Symbol>> otherNames; ///< of `set.others`, by the demands they meet
    std::vector<uint32_t> mayMeet;               ///< demands that a member's name meets
    std::vector<SingleName> single;              ///< out of `set.others`, where names are few
    std::vector<size_t> requiredBehind;          ///< required members from an index on
    uint64_t counted;                            ///< counts above this are the same
    std::map<MemberPlace, Symbol> begin, behind; ///< before a member, after one
    std::vector<MemberPlace> todo;
  };

  Symbol ruleOf(Wanted wanted);
  void write(Wanted wanted);
  void writeNumbers(Symbol rule, const std::vector<NumberSet> &numbers, GoalId goal);
  void writeArray(Symbol rule, const ArraySet &set, GoalId goal);
  void writeTuple(Symbol rule, const ArraySet &set);
  void writeCounted(Symbol rule, const ArraySet &set, GoalId goal);
  void writeDistinct(Symbol rule, const ArraySet &set, GoalId goal);
  void writeObject(Symbol rule, const ObjectSet &whole, GoalId goal, const ObjectStyle &style);
  bool canCount(const ObjectSet &set, GoalId goal);
  void nameMembers(ObjectRules &rules);
  void nameOthers(ObjectRules &rules);
  void nameSingles(ObjectRules &rules);
  ExpressionId permitted(ExpressionId texts);
  Symbol nameSymbol(const ObjectStyle &style, const std::string &name);
  uint32_t mayMeet(const ObjectSet &set, const std::string &name);
  GoalId demanded(const ObjectSet &set, GoalId goal, uint32_t met);
  Symbol place(ObjectRules &rules, MemberPlace at, bool isBehind);
  void writePlace(ObjectRules &rules, MemberPlace at, bool isBehind);
  ExpressionId spaced(std::string_view before, std::string_view after);
  ExpressionId spaces();
  GoalId itemGoal(const ArraySet &set, size_t at) const;
  bool spendRules(size_t count, GoalId goal);

  GrammarBuilder &builder;
  SchemaMeaning &meaning;
  ShapeAlgebra &algebra;
  ExpressionArena &arena;
  JsonForm form;
  std::unordered_map<uint64_t, Symbol> rules;
  std::vector<Wanted> todo;
  Symbol open, close, empty, comma; ///< of arrays
  ObjectStyle style;
};

} // namespace ingot::runtime::guided
