// SPDX-License-Identifier: Apache-2.0
// The constraint that an answer is a text of a grammar.
#pragma once

#include "runtime/guided/Recognizer.h"
#include "runtime/guided/TokenConstraint.h"
#include "runtime/guided/TokenVocabulary.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace ingot::runtime::guided {

/// A grammar and what is known of it over one vocabulary: states, transitions, masks. The answers
/// of one grammar share it; threads take turns. Past its limits it stays in error: whoever keeps it
/// for later answers makes another one then.
class GrammarMasks {
public:
  GrammarMasks(std::shared_ptr<const Grammar> grammar,
               std::shared_ptr<const TokenVocabulary> vocabulary, RecognizerLimits limits = {});

  /// The tokens whose bytes `state` lets pass, into `words` (as many as the vocabulary's). The
  /// caller holds `guard`.
  Status mask(Recognizer::State state, std::span<uint32_t> words);

  /// Whether a limit was met: no answer goes on from here. Takes no lock.
  bool failed() const { return isFailed; }
  /// Takes note of the recognizer's status. The caller holds `guard`.
  const Status &checked() {
    isFailed = !recognizer.status().ok();
    return recognizer.status();
  }

  std::mutex guard;
  Recognizer recognizer;
  const std::shared_ptr<const TokenVocabulary> vocabulary;

private:
  void compute(Recognizer::State state, std::span<uint32_t> words);
  void walk(const TokenTrie &trie, Recognizer::State state, std::span<uint32_t> words);
  void addLexeme(const Recognizer::Thread &thread, std::span<uint32_t> words);

  struct Kept {
    Recognizer::State state;
    std::vector<uint32_t> words;
  };

  std::atomic<bool> isFailed = false;
  std::vector<Recognizer::State> path; ///< of a walk, by depth
  std::vector<Kept> kept;              ///< the latest masks, in a ring
  size_t oldest = 0;
  std::unordered_map<Recognizer::State, size_t> keptOf;
};

/// One answer.
class GrammarConstraint final : public TokenConstraint {
public:
  /// `stopTokens` end the answer: allowed only where the grammar may end, and then once.
  GrammarConstraint(std::shared_ptr<GrammarMasks> masks, std::vector<int32_t> stopTokens);

  bool accept(int32_t token) override;
  void rollback(size_t count) override;
  size_t length() const override { return states.size() - 1; }
  Status mask(std::span<uint32_t> words) override;
  bool mayEnd() const override;
  bool mustEnd() const override;

private:
  /// Behind a stop token.
  static constexpr Recognizer::State ended = ~0u;

  bool stops(int32_t token) const;

  std::shared_ptr<GrammarMasks> masks;
  std::vector<int32_t> stopTokens;
  std::vector<Recognizer::State> states; ///< before each token, and now
};

} // namespace ingot::runtime::guided
