// SPDX-License-Identifier: Apache-2.0
// Rules to a grammar without symbols that lead nowhere.
#include "runtime/guided/Grammar.h"

#include "runtime/guided/Hash.h"

#include <algorithm>
#include <map>

namespace ingot::runtime::guided {

GrammarBuilder::GrammarBuilder(GrammarLimits limits) : limits(limits), arena(limits.expressions) {}

Symbol GrammarBuilder::terminal(ExpressionId expression) {
  auto [place, isNew] = terminalIndex.try_emplace(expression, uint32_t(terminals.size()));
  if (isNew)
    terminals.push_back(expression);
  return {place->second * 2 + 1};
}

Symbol GrammarBuilder::rule() {
  if (alternativesOf.size() > limits.rules) // build() says so.
    return {uint32_t(alternativesOf.size() - 1) * 2};
  alternativesOf.emplace_back();
  return {uint32_t(alternativesOf.size() - 1) * 2};
}

void GrammarBuilder::add(Symbol rule, std::span<const Symbol> symbols) {
  if (alternativeCount > limits.alternatives || symbolCount > limits.symbols)
    return; // build() says so.
  ++alternativeCount;
  symbolCount += symbols.size();
  alternativesOf[rule.index()].emplace_back(symbols.begin(), symbols.end());
}

Symbol GrammarBuilder::sequence(std::span<const Symbol> symbols) {
  Symbol result = rule();
  add(result, symbols);
  return result;
}

Symbol GrammarBuilder::choice(std::span<const Symbol> symbols) {
  Symbol result = rule();
  for (Symbol symbol : symbols)
    add(result, {symbol});
  return result;
}

Symbol GrammarBuilder::optional(Symbol symbol) {
  Symbol result = rule();
  add(result, {});
  add(result, {symbol});
  return result;
}

/// Counts up to this are lists; larger ones are halved.
constexpr uint32_t largestList = 256;

/// The rules made for counts of one symbol.
struct GrammarBuilder::Counts {
  std::map<uint32_t, Symbol> exact, atMost;
};

Symbol GrammarBuilder::exactly(Symbol symbol, uint32_t count, Counts &made) {
  if (auto known = made.exact.find(count); known != made.exact.end())
    return known->second;
  Symbol result;
  if (count <= largestList) {
    result = sequence(std::vector<Symbol>(count, symbol));
  } else {
    Symbol half = exactly(symbol, count / 2, made);
    result = sequence({half, half, exactly(symbol, count % 2, made)});
  }
  made.exact.emplace(count, result);
  return result;
}

Symbol GrammarBuilder::upTo(Symbol symbol, uint32_t maximum, Counts &made) {
  if (auto known = made.atMost.find(maximum); known != made.atMost.end())
    return known->second;
  Symbol result = rule();
  if (maximum <= largestList) {
    add(result, {});
    if (maximum > 0)
      add(result, {symbol, upTo(symbol, maximum - 1, made)});
  } else {
    const uint32_t half = maximum / 2;
    add(result, {upTo(symbol, half, made)});
    add(result, {exactly(symbol, half, made), upTo(symbol, maximum - half, made)});
  }
  made.atMost.emplace(maximum, result);
  return result;
}

Symbol GrammarBuilder::repeat(Symbol symbol, uint32_t minimum, uint32_t maximum) {
  if (minimum > maximum)
    return rule();
  Counts made;
  Symbol least = exactly(symbol, minimum, made);
  if (minimum == maximum)
    return least;
  if (maximum != ExpressionArena::unbounded)
    return sequence({least, upTo(symbol, maximum - minimum, made)});
  Symbol many = rule();
  add(many, {least});
  add(many, {many, symbol});
  return many;
}

Symbol GrammarBuilder::separated(Symbol symbol, Symbol separator, uint32_t minimum,
                                 uint32_t maximum) {
  if (minimum > maximum)
    return rule();
  if (maximum == 0)
    return sequence({});
  const uint32_t more = maximum == ExpressionArena::unbounded ? maximum : maximum - 1;
  Symbol some =
      sequence({symbol, repeat(sequence({separator, symbol}), minimum ? minimum - 1 : 0, more)});
  return minimum == 0 ? optional(some) : some;
}

/// Which rules derive something out of `terminals` alone.
std::vector<bool> GrammarBuilder::fixpoint(const std::vector<bool> &terminals) const {
  struct Place {
    uint32_t rule;
    size_t missing; ///< symbols that are not derived yet
  };
  std::vector<Place> places;
  std::vector<std::vector<uint32_t>> uses(alternativesOf.size());
  std::vector<bool> derived(alternativesOf.size());
  std::vector<uint32_t> ready;
  auto found = [&](uint32_t rule) {
    if (!derived[rule])
      ready.push_back(rule);
    derived[rule] = true;
  };
  for (uint32_t rule = 0; rule < alternativesOf.size(); ++rule)
    for (const Alternative &alternative : alternativesOf[rule]) {
      auto cannot = [&](Symbol symbol) { return symbol.terminal() && !terminals[symbol.index()]; };
      if (std::ranges::any_of(alternative, cannot))
        continue;
      size_t missing = 0;
      for (Symbol symbol : alternative)
        if (!symbol.terminal()) {
          uses[symbol.index()].push_back(uint32_t(places.size()));
          ++missing;
        }
      places.push_back({rule, missing});
      if (missing == 0)
        found(rule);
    }
  while (!ready.empty()) {
    uint32_t rule = ready.back();
    ready.pop_back();
    for (uint32_t use : uses[rule])
      if (--places[use].missing == 0)
        found(places[use].rule);
  }
  return derived;
}

std::vector<bool> GrammarBuilder::productive() {
  std::vector<bool> some(terminals.size());
  for (size_t i = 0; i < terminals.size(); ++i)
    some[i] = !arena.isEmpty(terminals[i]);
  return fixpoint(some);
}

/// What build() finds out before it copies.
struct GrammarBuilder::Marks {
  std::vector<bool> productive, nullable; ///< by rule
  std::vector<bool> useful;               ///< terminals: matches a byte at least
  std::vector<uint32_t> rules, terminals; ///< what is reached, in order
  std::vector<uint32_t> newRule, newTerminal;

  bool derives(const Alternative &alternative, const std::vector<bool> &terminalsDerive) const {
    return std::ranges::all_of(alternative, [&](Symbol symbol) {
      return symbol.terminal() ? terminalsDerive[symbol.index()] : productive[symbol.index()];
    });
  }
};

GrammarBuilder::Marks GrammarBuilder::mark(Symbol start) {
  Marks marks;
  std::vector<bool> some(terminals.size()), none(terminals.size());
  marks.useful.resize(terminals.size());
  for (size_t i = 0; i < terminals.size(); ++i) {
    some[i] = !arena.isEmpty(terminals[i]);
    none[i] = arena.nullable(terminals[i]);
    marks.useful[i] =
        some[i] &&
        (!none[i] || !arena.isEmpty(arena.difference(terminals[i], ExpressionArena::empty)));
  }
  marks.productive = fixpoint(some);
  marks.nullable = fixpoint(none);
  constexpr uint32_t unseen = ~0u;
  marks.newRule.assign(alternativesOf.size(), unseen);
  marks.newTerminal.assign(terminals.size(), unseen);
  auto reach = [&](Symbol symbol) {
    auto &list = symbol.terminal() ? marks.terminals : marks.rules;
    uint32_t &place =
        symbol.terminal() ? marks.newTerminal[symbol.index()] : marks.newRule[symbol.index()];
    if (place == unseen && (!symbol.terminal() || marks.useful[symbol.index()])) {
      place = uint32_t(list.size());
      list.push_back(symbol.index());
    }
  };
  reach(start);
  for (size_t i = 0; i < marks.rules.size(); ++i) {
    auto &alternatives = alternativesOf[marks.rules[i]];
    std::erase_if(alternatives, [&](const Alternative &alternative) {
      return !marks.derives(alternative, some);
    });
    for (const Alternative &alternative : alternatives)
      std::ranges::for_each(alternative, reach);
  }
  return marks;
}

void GrammarBuilder::emit(Grammar &grammar, const Marks &marks, Symbol start) const {
  std::unordered_map<uint64_t, uint32_t> known;
  grammar.suffixList.push_back({{}, 0, true, true});
  auto suffix = [&](Symbol symbol, uint32_t next) {
    const uint32_t old = symbol.index();
    const bool nullable =
        symbol.terminal() ? arena.nullable(terminals[old]) : bool(marks.nullable[old]);
    const uint32_t index = symbol.terminal() ? marks.newTerminal[old] : marks.newRule[old];
    const Symbol renumbered{index * 2 + symbol.terminal()};
    auto [place, isNew] = known.try_emplace(uint64_t(renumbered.code) << 32 | next,
                                            uint32_t(grammar.suffixList.size()));
    if (isNew)
      grammar.suffixList.push_back(
          {renumbered, next, nullable && grammar.suffixList[next].nullable, nullable});
    return place->second;
  };
  auto listed = [&](const Alternative &alternative) {
    uint32_t first = 0;
    for (size_t i = alternative.size(); i-- > 0;) {
      Symbol symbol = alternative[i];
      if (!symbol.terminal() || marks.useful[symbol.index()]) // Others are the empty text.
        first = suffix(symbol, first);
    }
    return first;
  };
  for (uint32_t rule : marks.rules) {
    std::vector<uint32_t> firsts;
    for (const Alternative &alternative : alternativesOf[rule])
      if (uint32_t first = listed(alternative))
        firsts.push_back(first);
    std::ranges::sort(firsts);
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    const auto begin = uint32_t(grammar.alternativeList.size());
    grammar.alternativeList.insert(grammar.alternativeList.end(), firsts.begin(), firsts.end());
    grammar.ruleList.push_back(
        {begin, uint32_t(grammar.alternativeList.size()), bool(marks.nullable[rule])});
  }
  for (uint32_t index : marks.terminals)
    grammar.terminalList.push_back(terminals[index]);
  grammar.startSuffix = listed({start});
}

Status GrammarBuilder::status() const {
  auto error = [](size_t limit, std::string_view what) {
    return Status::error("INGOT-E6603", "the grammar of this request has more than " +
                                            std::to_string(limit) + " " + std::string(what));
  };
  if (alternativesOf.size() > limits.rules)
    return error(limits.rules, "rules");
  if (alternativeCount > limits.alternatives)
    return error(limits.alternatives, "alternatives");
  if (symbolCount > limits.symbols)
    return error(limits.symbols, "symbols");
  return arena.status();
}

Result<std::shared_ptr<const Grammar>> GrammarBuilder::build(Symbol start) && {
  if (Status limit = status(); !limit.ok())
    return limit;
  start = sequence({start});
  Marks marks = mark(start);
  if (!arena.status().ok())
    return arena.status();
  if (!marks.productive[start.index()])
    return Status::error("INGOT-E6604", "no answer can satisfy this request");
  std::shared_ptr<Grammar> grammar(new Grammar(ExpressionArena()));
  emit(*grammar, marks, start);
  grammar->arena = std::move(arena);
  return std::shared_ptr<const Grammar>(std::move(grammar));
}

} // namespace ingot::runtime::guided
