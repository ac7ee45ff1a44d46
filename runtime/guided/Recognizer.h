// SPDX-License-Identifier: Apache-2.0
// The automaton of a grammar's texts, byte by byte, made as it is walked.
#pragma once

#include "runtime/guided/Grammar.h"
#include "runtime/guided/ItemLists.h"
#include "runtime/guided/Lexemes.h"

#include <memory>
#include <span>
#include <vector>

namespace ingot::runtime::guided {

/// What bounds a recognizer: past it new states are dead and status() is INGOT-E6605.
struct RecognizerLimits {
  size_t bytes = size_t(256) << 20; ///< of its tables, about
  size_t steps = 200000;            ///< new items for one byte of run(), or one mask
};

/// Earley's algorithm over bytes whose states are kept: a state is what may follow, so equal
/// situations are one state wherever in the text they come up, and each transition is computed
/// once. To go back is to take an earlier state. Not for several threads at once.
///
/// A set of Earley's items has no position: an item is a suffix of an alternative and a "return",
/// which is what goes on when the rule is complete: a set and the rule that it waits for. Sets of
/// equal items are one set. A return whose only item ends its own rule is that rule's return
/// (Leo's), so that lists that recur to the right come back to the same sets.
class Recognizer {
public:
  /// 0 is dead: no text begins like this.
  using State = uint32_t;
  static constexpr State dead = 0;

  /// Where a lexeme is: what may follow in it, and the items that go on behind it (an ItemLists
  /// id).
  struct Thread {
    uint32_t behind;
    ExpressionId rest;
    bool operator==(const Thread &) const = default;
  };

  explicit Recognizer(std::shared_ptr<const Grammar> grammar, RecognizerLimits limits = {});

  State start() const { return startState; }
  State next(State state, uint8_t byte) {
    const size_t at = size_t(state) * classCount + lexemes.byteClasses().of[byte];
    return transitions[at] != unknown ? transitions[at] : advance(state, byte);
  }
  /// Whether the text may end here.
  bool mayEnd(State state) const { return states[state].mayEnd; }
  /// Whether only the end may follow.
  bool mustEnd(State state) const { return states[state].mayEnd && threadsOf(state).empty(); }
  std::span<const Thread> threadsOf(State state) const {
    return {threadPool.data() + states[state].begin, states[state].count};
  }
  /// Where a lexeme with those items behind it has just ended.
  State behind(uint32_t items);
  /// Where these lexemes are in flight and no other; they are sorted by what is behind them.
  State inLexeme(std::vector<Thread> &threads) { return internState(threads, false); }

  /// The state after all of `text`.
  State run(State state, std::string_view text) {
    for (char byte : text) {
      beginSteps();
      state = next(state, uint8_t(byte));
    }
    return state;
  }

  /// The limit of steps begins anew.
  void beginSteps() { stepsTaken = 0; }

  Lexemes &lexer() { return lexemes; }
  size_t stateCount() const { return states.size(); }
  const Status &status() const { return failure; }

private:
  static constexpr State unknown = ~0u;

  struct StateEntry {
    uint32_t begin, count; ///< in threadPool
    bool mayEnd;
  };
  /// A set of items with what it predicts.
  struct ItemSet {
    uint32_t items;                    ///< an ItemLists id
    uint32_t threadBegin, threadCount; ///< in threadPool: lexemes that begin here
    uint32_t waitBegin, waitCount;     ///< in waits
    bool accepts;                      ///< the text may end here
  };
  /// Items of a set that go on when `rule` is complete.
  struct Wait {
    uint32_t rule;
    uint32_t items; ///< an ItemLists id
  };
  /// What waits for `rule` in `set`.
  struct Return {
    uint32_t set, rule;
    uint32_t completed; ///< the ItemLists id of all that goes on, once known
  };
  struct Closure;

  State advance(State state, uint8_t byte);
  State internState(std::vector<Thread> &threads, bool mayEnd);
  uint32_t afterLexemes(std::span<const uint32_t> lists);
  void complete(uint32_t target, std::vector<Item> &out);
  std::span<const Item> waiting(const Return &target) const;
  uint32_t internSet(std::vector<Item> items);
  void close(uint32_t set);
  void predict(Closure &closure, const Item &item) const;
  uint32_t resolve(Closure &closure, uint32_t set, uint32_t rule);
  uint32_t internReturn(uint32_t set, uint32_t rule);
  void makeThreads(Closure &closure, uint32_t set);
  void checkSize();
  /// Counts items; false where they are too many.
  bool step(size_t count = 1);

  std::shared_ptr<const Grammar> grammar;
  RecognizerLimits limits;
  Lexemes lexemes;
  size_t classCount;
  size_t stepsTaken = 0;
  Status failure;
  ItemLists lists;
  std::vector<ItemSet> sets;
  std::vector<Wait> waits;
  std::vector<Return> returns;
  std::vector<Thread> threadPool;
  std::vector<StateEntry> states;
  std::vector<State> transitions; ///< by state and class
  std::unordered_multimap<uint64_t, uint32_t> stateIndex;
  std::unordered_map<uint32_t, uint32_t> setIndex;    ///< by items
  std::unordered_map<uint64_t, uint32_t> returnIndex; ///< by set and rule
  State startState = dead;
};

} // namespace ingot::runtime::guided
