// SPDX-License-Identifier: Apache-2.0
// Walks of lexemes over tokens.
#include "runtime/guided/TokenVocabulary.h"

#include "runtime/guided/Hash.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ingot::runtime::guided {

/// The longest tokens of each slice but the last.
constexpr std::array<uint32_t, 4> sliceLengths{4, 8, 16, 32};

/// Rests of tokens that are kept for one lexeme and slice.
constexpr size_t mostRests = 1 << 13;

/// A slice whose lexeme allows fewer tokens than this part of it lists them.
constexpr size_t sparse = 64;

TokenVocabulary::TokenVocabulary(std::vector<std::string> given, size_t cacheBytes)
    : texts(std::move(given)), cacheBytes(cacheBytes) {
  std::array<std::vector<TokenTrie::Entry>, sliceLengths.size() + 1> entries;
  for (size_t token = 0; token < texts.size(); ++token) {
    auto slice = std::ranges::lower_bound(sliceLengths, texts[token].size());
    entries[size_t(slice - sliceLengths.begin())].push_back({texts[token], uint32_t(token)});
  }
  for (auto &list : entries) {
    TokenTrie trie(std::move(list));
    if (trie.size() > 0) {
      const auto longest = uint32_t(trie.depth());
      sliceList.push_back({longest, std::move(trie)});
    }
  }
}

bool plainBelow(const TokenTrie &trie, uint32_t node, Lexemes &lexemes, ExpressionId state) {
  const TokenTrie::Node &top = trie.nodes()[node];
  const uint8_t height = trie.height(node);
  if (height == 0xFF)
    return false;
  const uint32_t asked = std::bit_ceil(uint32_t(height));
  // To look at a state costs about as much as to walk eight nodes.
  const uint32_t mostStates = std::clamp(std::bit_floor((top.end - node) / 8), 4u, 128u);
  for (Plain kind : plainKinds)
    if (top.under & kind && lexemes.safeBytes(state, kind, asked, mostStates) >= height)
      return true;
  return false;
}

namespace {

/// One walk of a lexeme over a slice.
class LexemeWalk {
public:
  LexemeWalk(const TokenVocabulary &vocabulary, const TokenVocabulary::Slice &slice,
             Lexemes &lexemes, ExpressionId start)
      : vocabulary(vocabulary), trie(slice.trie), lexemes(lexemes), states(trie.depth() + 1),
        ends(trie.depth() + 1) {
    states[0] = start;
  }

  LexemeMask run() {
    LexemeMask mask;
    // The tokens of neighbours stand side by side: they are added by runs.
    uint32_t first = 0, last = 0;
    auto flush = [&] {
      auto all = trie.tokens();
      mask.tokens.insert(mask.tokens.end(), all.begin() + first, all.begin() + last);
    };
    auto take = [&](uint32_t node, uint32_t behind) {
      if (trie.nodes()[node].firstToken != last) {
        flush();
        first = trie.nodes()[node].firstToken;
      }
      last = trie.nodes()[behind].firstToken;
    };
    for (uint32_t i = 0; i < trie.size();) {
      const TokenTrie::Node &node = trie.nodes()[i];
      const ExpressionId next = lexemes.next(states[node.depth], node.byte);
      if (next == ExpressionArena::nothing) {
        rest(node, trie.tokensUnder(i));
        i = node.end;
        continue;
      }
      if (worthAsking(trie, i) && plainBelow(trie, i, lexemes, next)) {
        take(i, node.end);
        i = node.end;
        continue;
      }
      states[node.depth + 1] = next;
      // How many of the bytes so far, at the last end of the lexeme.
      ends[node.depth + 1] = lexemes.nullable(next) ? node.depth + 1u : ends[node.depth];
      take(i, i + 1);
      ++i;
    }
    flush();
    if (mask.tokens.size() > vocabulary.words() / sparse * 8) {
      mask.words.resize(vocabulary.words());
      allow(mask.words, mask.tokens);
      mask.tokens = {};
    }
    mask.restsComplete = rests.size() <= mostRests;
    if (mask.restsComplete)
      mask.rests = TokenTrie(std::move(rests));
    return mask;
  }

private:
  /// Tokens that leave the lexeme at `node`: behind each of its ends before, something else may
  /// begin.
  void rest(const TokenTrie::Node &node, std::span<const uint32_t> tokens) {
    for (uint32_t end = ends[node.depth]; end > 0 && rests.size() <= mostRests; end = ends[end - 1])
      for (uint32_t token : tokens)
        rests.push_back({vocabulary.text(token).substr(end), token});
  }

  const TokenVocabulary &vocabulary;
  const TokenTrie &trie;
  Lexemes &lexemes;
  std::vector<ExpressionId> states; ///< by depth
  std::vector<uint32_t> ends;       ///< by depth
  std::vector<TokenTrie::Entry> rests;
};

} // namespace

std::shared_ptr<const LexemeMask> TokenVocabulary::mask(Lexemes &lexemes, ExpressionId state,
                                                        size_t slice) const {
  state = lexemes.arena().clamped(state, sliceList[slice].longest);
  const uint64_t key = mixed(lexemes.arena().fingerprint(state) + slice);
  {
    std::lock_guard lock(guard);
    if (auto known = cache.find(key); known != cache.end())
      return known->second;
  }
  auto made =
      std::make_shared<const LexemeMask>(LexemeWalk(*this, sliceList[slice], lexemes, state).run());
  std::lock_guard lock(guard);
  if (cached + made->bytes() > cacheBytes) {
    cache.clear(); // What is in use is made again.
    cached = 0;
  }
  if (cache.emplace(key, made).second)
    cached += made->bytes();
  return made;
}

} // namespace ingot::runtime::guided
