// SPDX-License-Identifier: Apache-2.0
// What a set of items predicts: the lexemes that begin there, and the rules it waits for.
#include "runtime/guided/Recognizer.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace ingot::runtime::guided {

/// A return to the set that is being closed, whose number follows: rule.
constexpr uint32_t here = 1u << 31;

constexpr uint32_t notYet = ~0u;

struct Recognizer::Closure {
  std::vector<Item> open;
  std::unordered_set<uint64_t> seen;
  std::unordered_map<uint32_t, std::vector<Item>> terminals, rules; ///< what waits for each
  std::unordered_map<uint32_t, uint32_t> resolved;                  ///< returns, by rule

  void add(const Item &item) {
    if (item.suffix != 0 && seen.insert(uint64_t(item.suffix) << 32 | item.target).second)
      open.push_back(item);
  }
};

void Recognizer::predict(Closure &closure, const Item &item) const {
  const Grammar::Suffix &suffix = grammar->suffixes()[item.suffix];
  const Item rest{suffix.next, item.target};
  const uint32_t index = suffix.symbol.index();
  if (suffix.symbol.terminal()) {
    closure.terminals[index].push_back(rest);
  } else {
    auto [place, isNew] = closure.rules.try_emplace(index);
    place->second.push_back(rest);
    const Grammar::Rule &rule = grammar->rules()[index];
    for (uint32_t i = rule.begin; isNew && i < rule.end; ++i)
      closure.add({grammar->alternatives()[i], here | index});
  }
  if (suffix.headNullable)
    closure.add(rest);
}

/// The return for `rule` in the closed set: where the only item that waits ends its own rule, that
/// rule's return.
uint32_t Recognizer::resolve(Closure &closure, uint32_t set, uint32_t rule) {
  std::vector<uint32_t> chain;
  uint32_t target = notYet;
  for (uint32_t at = rule;;) {
    if (auto known = closure.resolved.find(at); known != closure.resolved.end()) {
      target = known->second;
      break;
    }
    const std::vector<Item> &items = closure.rules[at];
    const bool ring = std::ranges::find(chain, at) != chain.end();
    const bool last = items.size() == 1 && items.front().suffix == 0;
    if (ring || !last) {
      target = internReturn(set, at);
      if (!ring)
        chain.push_back(at);
      break;
    }
    chain.push_back(at);
    if (!(items.front().target & here)) {
      target = items.front().target;
      break;
    }
    at = items.front().target & ~here;
  }
  for (uint32_t at : chain)
    closure.resolved.emplace(at, target);
  return target;
}

uint32_t Recognizer::internReturn(uint32_t set, uint32_t rule) {
  auto [place, isNew] =
      returnIndex.try_emplace(uint64_t(set) << 32 | rule, uint32_t(returns.size()));
  if (isNew)
    returns.push_back({set, rule, notYet});
  return place->second;
}

void Recognizer::close(uint32_t set) {
  Closure closure;
  for (const Item &item : lists[sets[set].items])
    closure.add(item);
  while (!closure.open.empty() && step()) {
    const Item item = closure.open.back();
    closure.open.pop_back();
    predict(closure, item);
  }
  auto resolveAll = [&](std::vector<Item> &items) {
    for (Item &item : items)
      if (item.target & here)
        item.target = resolve(closure, set, item.target & ~here);
  };
  for (auto &[terminal, items] : closure.terminals)
    resolveAll(items);
  std::map<uint32_t, std::vector<Item>> rules; // The closure's own stay for resolve().
  for (const auto &[rule, items] : closure.rules)
    rules.emplace(rule, items);
  sets[set].waitBegin = uint32_t(waits.size());
  sets[set].waitCount = uint32_t(rules.size());
  for (auto &[rule, items] : rules) {
    resolveAll(items);
    waits.push_back({rule, lists.intern(items)});
  }
  makeThreads(closure, set);
}

void Recognizer::makeThreads(Closure &closure, uint32_t set) {
  std::map<uint32_t, std::vector<ExpressionId>> byItems;
  for (auto &[terminal, items] : closure.terminals)
    byItems[lists.intern(items)].push_back(grammar->terminals()[terminal]);
  sets[set].threadBegin = uint32_t(threadPool.size());
  sets[set].threadCount = uint32_t(byItems.size());
  for (const auto &[items, expressions] : byItems)
    threadPool.push_back({items, lexemes.arena().alternation(expressions)});
}

} // namespace ingot::runtime::guided
