// SPDX-License-Identifier: Apache-2.0
// What log-probabilities and /tokenize call single tokens.
#pragma once

#include "runtime/serving/Tokenizer.h"

#include <optional>

namespace ingot::runtime {

/// Immutable, so threads may share it. The tokenizer must outlive it.
class TokenNames {
public:
  /// `tokenizer` may be null: ids then are all there is.
  explicit TokenNames(const Tokenizer *tokenizer);

  /// The text that a token adds behind others, special ones too. "token_id:N" where it is no whole
  /// text, as with a part of a character: names of different tokens of an answer then differ.
  std::string nameOf(int32_t token) const;
  /// The bytes that a token adds, parts of characters too; nothing where it stands for none.
  std::optional<std::string> bytesOf(int32_t token) const;
  static std::string numberOf(int32_t token) { return "token_id:" + std::to_string(token); }

private:
  std::string textOf(int32_t token) const;

  const Tokenizer *tokenizer;
  int32_t before = -1; ///< a token with a whole text: some tokenizers strip what begins a text
};

} // namespace ingot::runtime
