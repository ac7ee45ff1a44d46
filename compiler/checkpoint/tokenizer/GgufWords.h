// SPDX-License-Identifier: Apache-2.0
// How texts are cut into words, by the names that GGUF files have for it.
#pragma once

#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

namespace ingot::checkpoint {

inline std::string tokenizerKey(std::string_view name) { return message("tokenizer.ggml.", name); }

/// What a value of tokenizer.ggml.pre stands for: the steps as tokenizer.json writes them.
struct WordRule {
  std::string_view name;
  nlohmann::json (*steps)();
  bool composes;     ///< NFC comes first
  bool ignoreMerges; ///< a whole word that is a piece is not cut
  bool addBos;       ///< unless the file says otherwise
};

/// The rule that `metadata` names. Errors: INGOT-E1116 for one that is not known.
Expected<const WordRule *> findWordRule(const Json &metadata);

/// Adds the steps of a rule. Errors: those of readPreTokenizer().
Outcome addWordRule(const WordRule &rule, const std::string &where, TokenizerSpec &spec);

/// The first rule with the steps that `spec` has before its model; null: none.
const WordRule *wordRuleOf(const TokenizerSpec &spec);

} // namespace ingot::checkpoint
