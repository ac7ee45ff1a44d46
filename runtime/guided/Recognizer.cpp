// SPDX-License-Identifier: Apache-2.0
// Transitions between states: lexemes go on and end, rules are completed.
#include "runtime/guided/Recognizer.h"

#include "runtime/guided/Hash.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace ingot::runtime::guided {

constexpr uint32_t notYet = ~0u;

Recognizer::Recognizer(std::shared_ptr<const Grammar> given, RecognizerLimits limits)
    : grammar(std::move(given)), limits(limits), lexemes(grammar->expressions()),
      classCount(lexemes.byteClasses().count) {
  states.push_back({0, 0, false});
  transitions.resize(classCount, dead);
  returns.push_back({0, 0, notYet});
  sets.push_back({0, 0, 0, 0, 0, false});
  std::vector<Item> items{{grammar->start(), 0}};
  startState = behind(lists.intern(items));
}

void Recognizer::checkSize() {
  const size_t bytes = lexemes.bytes() + lists.bytes() + threadPool.size() * sizeof(Thread) +
                       states.size() * 64 + transitions.size() * sizeof(State) +
                       waits.size() * sizeof(Wait) + (sets.size() + returns.size()) * 64;
  if (bytes > limits.bytes && failure.ok())
    failure = Status::error("INGOT-E6605", "this answer takes more than the " +
                                               std::to_string(limits.bytes >> 20) +
                                               " MB that a constraint may use");
  if (!lexemes.arena().status().ok() && failure.ok())
    failure = lexemes.arena().status();
}

bool Recognizer::step(size_t count) {
  stepsTaken += count;
  if (stepsTaken > limits.steps && failure.ok())
    failure = Status::error("INGOT-E6605", "the grammar of this request is too ambiguous: more "
                                           "than " +
                                               std::to_string(limits.steps) + " steps at once");
  return failure.ok();
}

Recognizer::State Recognizer::internState(std::vector<Thread> &threads, bool mayEnd) {
  if (threads.empty() && !mayEnd)
    return dead;
  uint64_t hash = mixed(threads.size() * 2 + mayEnd);
  for (const Thread &thread : threads)
    hash = mixed(hash ^ (uint64_t(thread.behind) << 32 | thread.rest));
  auto [candidate, end] = stateIndex.equal_range(hash);
  for (; candidate != end; ++candidate)
    if (states[candidate->second].mayEnd == mayEnd &&
        std::ranges::equal(threadsOf(candidate->second), threads))
      return candidate->second;
  checkSize();
  if (!failure.ok())
    return dead;
  const auto id = State(states.size());
  states.push_back({uint32_t(threadPool.size()), uint32_t(threads.size()), mayEnd});
  threadPool.insert(threadPool.end(), threads.begin(), threads.end());
  transitions.resize(transitions.size() + classCount, unknown);
  stateIndex.emplace(hash, id);
  return id;
}

Recognizer::State Recognizer::advance(State state, uint8_t byte) {
  std::vector<Thread> going;
  std::vector<uint32_t> ended;
  for (uint32_t i = 0; i < states[state].count; ++i) {
    const Thread thread = threadPool[states[state].begin + i];
    ExpressionId rest = lexemes.next(thread.rest, byte);
    if (rest == ExpressionArena::nothing)
      continue;
    if (lexemes.nullable(rest))
      ended.push_back(thread.behind);
    if (rest != ExpressionArena::empty)
      going.push_back({thread.behind, rest});
  }
  bool mayEnd = false;
  if (!ended.empty()) {
    const ItemSet &set = sets[afterLexemes(ended)];
    mayEnd = set.accepts;
    // Threads with the same items behind them are one, of either rest.
    for (uint32_t i = 0; i < set.threadCount; ++i)
      going.push_back(threadPool[set.threadBegin + i]);
    std::ranges::sort(going, {}, &Thread::behind);
    size_t kept = 0;
    for (size_t i = 0; i < going.size(); ++i) {
      if (kept > 0 && going[kept - 1].behind == going[i].behind)
        going[kept - 1].rest = lexemes.arena().alternation(going[kept - 1].rest, going[i].rest);
      else
        going[kept++] = going[i];
    }
    going.resize(kept);
  }
  const State next = internState(going, mayEnd);
  if (failure.ok())
    transitions[size_t(state) * classCount + lexemes.byteClasses().of[byte]] = next;
  return next;
}

Recognizer::State Recognizer::behind(uint32_t items) {
  const uint32_t id[] = {items};
  const ItemSet &set = sets[afterLexemes(id)];
  std::vector<Thread> threads(threadPool.begin() + set.threadBegin,
                              threadPool.begin() + set.threadBegin + set.threadCount);
  return internState(threads, set.accepts);
}

std::span<const Item> Recognizer::waiting(const Return &target) const {
  const ItemSet &set = sets[target.set];
  std::span all(waits.data() + set.waitBegin, set.waitCount);
  auto found = std::ranges::lower_bound(all, target.rule, {}, &Wait::rule);
  return lists[found->items];
}

/// Adds the items that go on when the rule of `target` is complete, and of the rules that this
/// completes; the item {0, 0} is the end of the text.
void Recognizer::complete(uint32_t first, std::vector<Item> &out) {
  if (first != 0 && returns[first].completed != notYet) {
    auto known = lists[returns[first].completed];
    if (step(known.size()))
      out.insert(out.end(), known.begin(), known.end());
    return;
  }
  std::vector<Item> found;
  std::vector<uint32_t> open{first};
  std::unordered_set<uint32_t> seen{first};
  while (!open.empty()) {
    const uint32_t target = open.back();
    open.pop_back();
    if (!step())
      return;
    if (target == 0) {
      found.push_back({0, 0});
      continue;
    }
    if (returns[target].completed != notYet) {
      auto known = lists[returns[target].completed];
      if (!step(known.size()))
        return;
      found.insert(found.end(), known.begin(), known.end());
      continue;
    }
    for (const Item &item : waiting(returns[target])) {
      if (!step())
        return;
      if (item.suffix != 0)
        found.push_back(item);
      if (grammar->suffixes()[item.suffix].nullable && seen.insert(item.target).second)
        open.push_back(item.target);
    }
  }
  const uint32_t list = lists.intern(found);
  if (first != 0)
    returns[first].completed = list;
  out.insert(out.end(), found.begin(), found.end());
}

/// The set behind lexemes that all end here.
uint32_t Recognizer::afterLexemes(std::span<const uint32_t> ids) {
  std::vector<Item> items;
  for (uint32_t id : ids)
    for (size_t i = 0; i < lists[id].size(); ++i) {
      const Item item = lists[id][i];
      if (item.suffix != 0)
        items.push_back(item);
      if (grammar->suffixes()[item.suffix].nullable)
        complete(item.target, items);
    }
  return internSet(std::move(items));
}

uint32_t Recognizer::internSet(std::vector<Item> items) {
  const uint32_t list = lists.intern(items);
  auto [place, isNew] = setIndex.try_emplace(list, uint32_t(sets.size()));
  if (isNew) {
    sets.push_back({list, 0, 0, 0, 0, !items.empty() && items.front() == Item{0, 0}});
    close(place->second);
  }
  return place->second;
}

} // namespace ingot::runtime::guided
