// SPDX-License-Identifier: Apache-2.0
// Rules for values, and for lists of items.
#include "runtime/guided/json/ShapeGrammar.h"

#include "runtime/guided/json/NumberText.h"

#include <algorithm>
#include <bit>

namespace ingot::runtime::guided {

/// States of a list with counts, and items that may be any of a few constants.
constexpr size_t mostStates = 20000;
constexpr size_t mostDistinct = 10;
constexpr size_t mostContained = 3;
constexpr size_t mostGoals = 50000;
/// Derivatives that a search for a text of a string tries.
constexpr size_t mostSearched = 20000;

ShapeGrammar::ShapeGrammar(GrammarBuilder &builder, SchemaMeaning &meaning, ShapeAlgebra &algebra,
                           const JsonForm &form)
    : builder(builder), meaning(meaning), algebra(algebra), arena(builder.expressions()),
      form(form) {
  const auto hollow = [&](std::string_view begin, std::string_view end) {
    return builder.terminal(arena.concatenation(spaced("", begin), arena.literal(end)));
  };
  open = builder.terminal(spaced("", "["));
  close = builder.terminal(spaced("]", ""));
  empty = hollow("[", "]");
  comma = builder.terminal(arena.concatenation(spaced(",", ""), spaces()));
  style.open = builder.terminal(spaced("", "{"));
  style.close = builder.terminal(spaced("}", ""));
  style.empty = hollow("{", "}");
  style.comma = comma;
  const ExpressionId colon = arena.concatenation(spaced(":", ""), spaces());
  if (form.notation == Notation::Gemma) {
    // Its readers end a name at the colon, and take none of these for a part of one.
    CharacterSet barred({{0, ' '}, {'"', '"'}, {'\'', '\''}});
    for (const char character : std::string_view("{}[](),<>:"))
      barred.add(char32_t(character), char32_t(character));
    style.beforeName = ExpressionArena::empty;
    style.afterName = colon;
    style.names = arena.repeat(spelled(arena, barred.complement(), Spelling::Utf8), 1);
  } else {
    style.beforeName = arena.literal(form.quote);
    style.afterName = arena.concatenation(style.beforeName, colon);
    style.names = permitted(style.names);
  }
  style.valueOf = [this](GoalId goal) { return ruleOf(goal); };
}

/// Those of `texts` that may stand there.
ExpressionId ShapeGrammar::permitted(ExpressionId texts) {
  if (form.barred.empty())
    return texts;
  return arena.difference(
      texts, arena.concatenation({ExpressionArena::anything, arena.literal(form.barred),
                                  ExpressionArena::anything}));
}

ExpressionId ShapeGrammar::spaces() {
  ByteSet set;
  for (char byte : {' ', '\t', '\n', '\r'})
    set.add(uint8_t(byte));
  return arena.repeat(arena.bytes(set), 0, form.mostSpace);
}

/// `before` with space before it, `after` with space behind it; one of them is empty.
ExpressionId ShapeGrammar::spaced(std::string_view before, std::string_view after) {
  ExpressionId texts = arena.concatenation(arena.literal(after), spaces());
  return before.empty() ? texts : arena.concatenation(spaces(), arena.literal(before));
}

Symbol ShapeGrammar::space() { return builder.terminal(spaces()); }

Symbol ShapeGrammar::ruleOf(Wanted wanted) {
  auto found = rules.find(wanted.key());
  if (found != rules.end())
    return found->second;
  Symbol rule = builder.rule();
  rules.emplace(wanted.key(), rule);
  todo.push_back(wanted);
  return rule;
}

Symbol ShapeGrammar::objectRule(GoalId goal, const ObjectStyle &written) {
  const Symbol rule = builder.rule();
  const std::vector<ObjectSet> sets = meaning.shape(goal).objects;
  for (const ObjectSet &set : sets)
    writeObject(rule, set, goal, written);
  return rule;
}

Status ShapeGrammar::finish() {
  while (!todo.empty() && meaning.status().ok()) {
    const Wanted wanted = todo.back();
    todo.pop_back();
    if (rules.size() > mostGoals)
      return Status::error("INGOT-E6614", meaning.placeOf(wanted.goal) +
                                              ": the schema has more than 50000 different places");
    write(wanted);
  }
  return meaning.status();
}

bool ShapeGrammar::spendRules(size_t count, GoalId goal) {
  if (count <= mostStates)
    return true;
  meaning.refuse(meaning.valueOf(goal), "counts of items or members need more than 20000 states",
                 "INGOT-E6614");
  return false;
}

void ShapeGrammar::write(Wanted wanted) {
  const GoalId goal = wanted.goal;
  const Shape shape = meaning.shape(goal);
  const bool isPython = form.notation == Notation::Python;
  Symbol rule = rules.at(wanted.key());
  if (shape.null)
    builder.add(rule, {builder.literal(isPython ? "None" : "null")});
  if (shape.no)
    builder.add(rule, {builder.literal(isPython ? "False" : "false")});
  if (shape.yes)
    builder.add(rule, {builder.literal(isPython ? "True" : "true")});
  if (!shape.numbers.empty())
    writeNumbers(rule, shape.numbers, goal);
  // A search for a text is bounded here: the builder asks again, and finds what is known.
  if (wanted.strings && !arena.isEmpty(shape.strings, mostSearched))
    builder.add(rule, {builder.terminal(
                          arena.concatenation({arena.literal(form.quote), permitted(shape.strings),
                                               arena.literal(form.quote)}))});
  for (const ArraySet &set : shape.arrays)
    writeArray(rule, set, goal);
  for (const ObjectSet &set : shape.objects)
    writeObject(rule, set, goal, style);
}

void ShapeGrammar::writeNumbers(Symbol rule, const std::vector<NumberSet> &numbers, GoalId goal) {
  NumberText writer(arena);
  std::vector<ExpressionId> alternatives;
  for (const NumberSet &set : numbers) {
    Result<ExpressionId> texts = writer.of(set);
    if (!texts.ok()) {
      meaning.refuse(meaning.valueOf(goal), texts.status().message(), texts.status().code());
      return;
    }
    alternatives.push_back(*texts);
  }
  builder.add(rule, {builder.terminal(arena.alternation(alternatives))});
}

GoalId ShapeGrammar::itemGoal(const ArraySet &set, size_t at) const {
  return at < set.first.size() ? set.first[at] : set.rest;
}

void ShapeGrammar::writeArray(Symbol rule, const ArraySet &set, GoalId goal) {
  if (set.distinct && set.most > 1)
    return writeDistinct(rule, set, goal);
  if (!set.contained.empty())
    return writeCounted(rule, set, goal);
  writeTuple(rule, set);
}

/// The first items one by one, the rest as one list.
void ShapeGrammar::writeTuple(Symbol rule, const ArraySet &set) {
  if (set.least == 0)
    builder.add(rule, {empty});
  if (set.most == 0)
    return;
  size_t count = set.first.size();
  auto rest = [&](uint64_t done) {
    uint64_t least = set.least > done ? set.least - done : 0;
    uint32_t most = set.most == noLimit ? ExpressionArena::unbounded
                                        : uint32_t(std::min<uint64_t>(set.most - done, 1u << 30));
    return builder.separated(ruleOf(set.rest), comma,
                             uint32_t(std::min<uint64_t>(std::max<uint64_t>(least, 1), 1u << 30)),
                             most);
  };
  if (count == 0) {
    builder.add(rule, {open, rest(0), close});
    return;
  }
  Symbol at = builder.rule();
  builder.add(rule, {open, ruleOf(set.first[0]), at});
  for (size_t done = 1; done <= count; ++done) {
    if (done >= set.least)
      builder.add(at, {close});
    if (done >= set.most)
      return;
    if (done == count) {
      if (set.rest != noGoal)
        builder.add(at, {comma, rest(done), close});
      return;
    }
    Symbol next = builder.rule();
    builder.add(at, {comma, ruleOf(set.first[done]), next});
    at = next;
  }
}

/// Every item matches some of `contained` or does not: rules by how many there are of each.
void ShapeGrammar::writeCounted(Symbol rule, const ArraySet &set, GoalId goal) {
  size_t kinds = set.contained.size();
  if (kinds > mostContained) {
    meaning.refuse(meaning.valueOf(goal), "more than 3 'contains' apply to one array");
    return;
  }
  uint64_t longest = std::max<uint64_t>(set.first.size(), set.least);
  longest = set.most == noLimit ? longest : std::max(longest, set.most);
  Counts caps{longest};
  for (const Contained &contained : set.contained)
    caps.push_back(contained.most == noLimit ? contained.least : contained.most + 1);
  std::map<Counts, Symbol> states;
  std::vector<Counts> open_;
  auto state = [&](const Counts &counts) {
    auto [found, isNew] = states.try_emplace(counts);
    if (isNew) {
      found->second = builder.rule();
      open_.push_back(counts);
    }
    return found->second;
  };
  auto mayEnd = [&](const Counts &counts) {
    bool result = counts[0] >= set.least;
    for (size_t i = 0; i < kinds; ++i)
      result = result && counts[i + 1] >= set.contained[i].least;
    return result;
  };
  auto addItems = [&](Symbol from, Symbol before, const Counts &counts) {
    if (set.most != noLimit && counts[0] >= set.most)
      return;
    for (uint32_t matched = 0; matched < 1u << kinds; ++matched) {
      Counts next = counts;
      next[0] = std::min(caps[0], counts[0] + 1);
      GoalId item = itemGoal(set, counts[0]);
      bool isOver = false;
      for (size_t i = 0; i < kinds; ++i) {
        const Contained &contained = set.contained[i];
        bool isMatch = matched >> i & 1;
        next[i + 1] = std::min(caps[i + 1], counts[i + 1] + isMatch);
        isOver |= contained.most != noLimit && next[i + 1] > contained.most;
        if (isMatch)
          item = algebra.goals.meet(item, contained.goal);
        else if (contained.most != noLimit)
          item = algebra.goals.meet(item, contained.otherwise);
      }
      if (!isOver && item != noGoal)
        builder.add(from, {before, ruleOf(item), state(next)});
    }
  };
  Counts none(kinds + 1, 0);
  if (mayEnd(none))
    builder.add(rule, {empty});
  addItems(rule, open, none);
  while (!open_.empty() && spendRules(states.size(), goal) && meaning.status().ok()) {
    Counts counts = open_.back();
    open_.pop_back();
    Symbol from = states.at(counts);
    if (mayEnd(counts))
      builder.add(from, {close});
    addItems(from, comma, counts);
  }
}

/// Items out of a few constants, each once: rules by the set of those that are used.
void ShapeGrammar::writeDistinct(Symbol rule, const ArraySet &set, GoalId goal) {
  std::vector<GoalId> constants = meaning.constantsOf(set.rest, mostDistinct);
  if (constants.empty() || !set.first.empty() || !set.contained.empty()) {
    meaning.refuse(
        meaning.valueOf(goal),
        "'uniqueItems' cannot be enforced but for items of one enum of at most 10 values");
    return;
  }
  std::vector<Symbol> states(size_t(1) << constants.size());
  for (Symbol &state : states)
    state = builder.rule();
  for (size_t used = 0; used < states.size(); ++used) {
    uint64_t count = uint64_t(std::popcount(used));
    if (count >= set.least)
      builder.add(used ? states[used] : rule, {used ? close : empty});
    for (size_t i = 0; i < constants.size() && count < set.most; ++i)
      if (!(used >> i & 1))
        builder.add(used ? states[used] : rule,
                    {used ? comma : open, ruleOf(constants[i]), states[used | size_t(1) << i]});
  }
}

/// Follows what has to be there, as long as that is impossible too.
GoalId ShapeGrammar::impossible(GoalId root, const std::vector<bool> &productive) {
  GoalId goal = root;
  for (int step = 0; step < 64; ++step) {
    const Shape &shape = meaning.shape(goal);
    std::vector<GoalId> needed;
    for (const ObjectSet &set : shape.objects)
      for (const ObjectMember &member : set.members)
        if (member.required)
          needed.push_back(member.goal);
    for (const ArraySet &set : shape.arrays)
      if (set.least > 0)
        needed.push_back(itemGoal(set, 0));
    GoalId next = goal;
    for (GoalId candidate : needed) {
      auto rule = rules.find(Wanted{candidate}.key());
      if (rule != rules.end() && !productive[rule->second.index()] && candidate != goal)
        next = candidate;
    }
    if (next == goal)
      return goal;
    goal = next;
  }
  return goal;
}

} // namespace ingot::runtime::guided
