// SPDX-License-Identifier: Apache-2.0
// Masks by lexemes, and one answer's states.
#include "runtime/guided/GrammarConstraint.h"

#include <algorithm>

namespace ingot::runtime::guided {

/// Masks kept for each grammar.
constexpr size_t mostKept = 256;

GrammarMasks::GrammarMasks(std::shared_ptr<const Grammar> grammar,
                           std::shared_ptr<const TokenVocabulary> given, RecognizerLimits limits)
    : recognizer(std::move(grammar), limits), vocabulary(std::move(given)) {
  size_t deepest = 0;
  for (const TokenVocabulary::Slice &slice : vocabulary->slices())
    deepest = std::max<size_t>(deepest, slice.longest);
  path.resize(deepest + 1);
}

/// Sets the bits of the tokens of `trie` whose bytes `state` lets pass.
void GrammarMasks::walk(const TokenTrie &trie, Recognizer::State state, std::span<uint32_t> words) {
  path[0] = state;
  for (uint32_t i = 0; i < trie.size();) {
    const TokenTrie::Node &node = trie.nodes()[i];
    const Recognizer::State next = recognizer.next(path[node.depth], node.byte);
    if (next == Recognizer::dead) {
      i = node.end;
      continue;
    }
    path[node.depth + 1] = next;
    auto staysIn = [&](const Recognizer::Thread &thread) {
      return plainBelow(trie, i, recognizer.lexer(), thread.rest);
    };
    if (worthAsking(trie, i) && std::ranges::any_of(recognizer.threadsOf(next), staysIn)) {
      allow(words, trie.tokensUnder(i));
      i = node.end;
      continue;
    }
    allow(words, trie.tokensAt(i));
    ++i;
  }
}

/// The tokens that lie in the lexeme, and those that go on behind it.
void GrammarMasks::addLexeme(const Recognizer::Thread &thread, std::span<uint32_t> words) {
  const Recognizer::State behind = recognizer.behind(thread.behind);
  const bool goesOn = behind != Recognizer::dead && !recognizer.threadsOf(behind).empty();
  for (size_t slice = 0; slice < vocabulary->slices().size(); ++slice) {
    auto mask = vocabulary->mask(recognizer.lexer(), thread.rest, slice);
    for (size_t i = 0; i < mask->words.size(); ++i)
      words[i] |= mask->words[i];
    allow(words, mask->tokens);
    if (!goesOn)
      continue;
    if (mask->restsComplete) {
      walk(mask->rests, behind, words);
    } else {
      std::vector<Recognizer::Thread> alone{thread};
      walk(vocabulary->slices()[slice].trie, recognizer.inLexeme(alone), words);
    }
  }
}

/// A lexeme alone is looked up; several are walked together, as each would be a walk of its own.
void GrammarMasks::compute(Recognizer::State state, std::span<uint32_t> words) {
  auto threads = recognizer.threadsOf(state);
  if (threads.size() == 1)
    return addLexeme(Recognizer::Thread(threads.front()), words);
  for (const TokenVocabulary::Slice &slice : vocabulary->slices())
    walk(slice.trie, state, words);
}

Status GrammarMasks::mask(Recognizer::State state, std::span<uint32_t> words) {
  if (const Status &status = checked(); !status.ok())
    return status;
  if (auto known = keptOf.find(state); known != keptOf.end()) {
    std::ranges::copy(kept[known->second].words, words.begin());
    return Status::success();
  }
  std::ranges::fill(words, 0);
  recognizer.beginSteps();
  compute(state, words);
  if (const Status &status = checked(); !status.ok())
    return status;
  if (kept.size() < mostKept) {
    oldest = kept.size();
    kept.emplace_back();
  } else {
    oldest = (oldest + 1) % kept.size();
    keptOf.erase(kept[oldest].state);
  }
  kept[oldest] = {state, {words.begin(), words.end()}};
  keptOf.emplace(state, oldest);
  return Status::success();
}

GrammarConstraint::GrammarConstraint(std::shared_ptr<GrammarMasks> given,
                                     std::vector<int32_t> stopTokens)
    : masks(std::move(given)), stopTokens(std::move(stopTokens)),
      states{masks->recognizer.start()} {}

bool GrammarConstraint::stops(int32_t token) const {
  return std::ranges::find(stopTokens, token) != stopTokens.end();
}

bool GrammarConstraint::accept(int32_t token) {
  if (token < 0 || states.back() == ended)
    return false;
  std::lock_guard lock(masks->guard);
  if (stops(token)) {
    if (!masks->recognizer.mayEnd(states.back()))
      return false;
    states.push_back(ended);
    return true;
  }
  if (size_t(token) >= masks->vocabulary->size())
    return false;
  std::string_view text = masks->vocabulary->text(uint32_t(token));
  Recognizer::State next = masks->recognizer.run(states.back(), text);
  masks->checked();
  if (text.empty() || next == Recognizer::dead)
    return false;
  states.push_back(next);
  return true;
}

void GrammarConstraint::rollback(size_t count) {
  states.resize(std::max<size_t>(states.size() - std::min(count, length()), 1));
}

bool GrammarConstraint::mayEnd() const {
  std::lock_guard lock(masks->guard);
  return states.back() == ended || masks->recognizer.mayEnd(states.back());
}

bool GrammarConstraint::mustEnd() const {
  std::lock_guard lock(masks->guard);
  return states.back() == ended || masks->recognizer.mustEnd(states.back());
}

Status GrammarConstraint::mask(std::span<uint32_t> words) {
  std::ranges::fill(words, 0);
  if (states.back() == ended)
    return Status::success();
  std::lock_guard lock(masks->guard);
  Status status = masks->mask(states.back(), words.first(masks->vocabulary->words()));
  for (int32_t token : stopTokens) {
    uint32_t &word = words[size_t(token) / 32];
    const uint32_t bit = 1u << (token % 32);
    word = masks->recognizer.mayEnd(states.back()) ? word | bit : word & ~bit;
  }
  return status;
}

} // namespace ingot::runtime::guided
