// SPDX-License-Identifier: Apache-2.0
// The constraint that an answer is a JSON text of a grammar whose objects have each name once.
#pragma once

#include "runtime/guided/GrammarConstraint.h"
#include "runtime/guided/json/UniqueNames.h"

namespace ingot::runtime::guided {

/// The tokens that may end a name: those with a quote in them.
std::vector<uint32_t> tokensWithQuotes(const TokenVocabulary &vocabulary);

class JsonConstraint final : public TokenConstraint {
public:
  /// `quoted`: the vocabulary's tokensWithQuotes(), shared by all answers. `stopTokens` as of
  /// GrammarConstraint.
  JsonConstraint(std::shared_ptr<GrammarMasks> masks,
                 std::shared_ptr<const std::vector<uint32_t>> quoted,
                 std::vector<int32_t> stopTokens);

  bool accept(int32_t token) override;
  void rollback(size_t count) override;
  size_t length() const override { return grammar.length(); }
  Status mask(std::span<uint32_t> words) override;
  bool mayEnd() const override { return grammar.mayEnd(); }
  bool mustEnd() const override { return grammar.mustEnd(); }

private:
  std::shared_ptr<const TokenVocabulary> vocabulary;
  std::shared_ptr<const std::vector<uint32_t>> quoted;
  GrammarConstraint grammar;
  UniqueNames names;
  std::vector<UniqueNames::State> states; ///< before each token
};

} // namespace ingot::runtime::guided
