// SPDX-License-Identifier: Apache-2.0
// The tokens of a model as bytes, and what lexemes allow of them, shared by all requests.
#pragma once

#include "runtime/guided/Lexemes.h"
#include "runtime/guided/TokenTrie.h"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace ingot::runtime::guided {

/// Sets the bits of tokens in a mask.
inline void allow(std::span<uint32_t> words, std::span<const uint32_t> tokens) {
  for (uint32_t token : tokens)
    words[token / 32] |= 1u << (token % 32);
}

/// What a lexeme allows of the tokens of one slice, whatever the grammar around it.
struct LexemeMask {
  std::vector<uint32_t> words;  ///< bits of the tokens that lie in the lexeme; empty where few
  std::vector<uint32_t> tokens; ///< those tokens, where they are few
  /// What is left of other tokens where the lexeme ends, for what comes behind it to accept.
  TokenTrie rests;
  bool restsComplete = true; ///< false: too many, walk the whole slice

  size_t bytes() const {
    return (words.size() + tokens.size() + rests.tokens().size()) * 4 +
           rests.nodes().size() * sizeof(TokenTrie::Node) + 256;
  }
};

/// Whether so much plain text lies below node `i` that plainBelow() may be sooner done than a walk.
inline bool worthAsking(const TokenTrie &trie, uint32_t i) {
  constexpr uint32_t fewNodes = 24;
  const TokenTrie::Node &node = trie.nodes()[i];
  return node.under != 0 && node.end - i >= fewNodes;
}

/// Whether all texts below `node` stay in a lexeme that is in `state` there, since they are plain
/// text; false also where that takes long to tell.
bool plainBelow(const TokenTrie &trie, uint32_t node, Lexemes &lexemes, ExpressionId state);

/// The tokens in slices by length, so that most of them cannot tell a long count from an endless
/// one. Threads may share it.
class TokenVocabulary {
public:
  struct Slice {
    uint32_t longest; ///< bytes of its longest token
    TokenTrie trie;
  };

  /// `texts` are the bytes of each token by its id; empty for tokens that no constraint allows
  /// (special ones).
  explicit TokenVocabulary(std::vector<std::string> texts, size_t cacheBytes = size_t(128) << 20);

  size_t size() const { return texts.size(); }
  /// Words of a mask.
  size_t words() const { return (texts.size() + 31) / 32; }
  std::string_view text(uint32_t token) const { return texts[token]; }
  std::span<const Slice> slices() const { return sliceList; }

  /// The mask of a slice in `state` of `lexemes`; made where no request has needed it yet.
  std::shared_ptr<const LexemeMask> mask(Lexemes &lexemes, ExpressionId state, size_t slice) const;

private:
  std::vector<std::string> texts;
  std::vector<Slice> sliceList;
  size_t cacheBytes;
  mutable std::mutex guard;
  mutable std::unordered_map<uint64_t, std::shared_ptr<const LexemeMask>> cache;
  mutable size_t cached = 0; ///< bytes
};

} // namespace ingot::runtime::guided
