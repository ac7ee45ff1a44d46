// SPDX-License-Identifier: Apache-2.0
// A grammar's answer and the names of its objects, side by side.
#include "runtime/guided/json/JsonConstraint.h"

namespace ingot::runtime::guided {

std::vector<uint32_t> tokensWithQuotes(const TokenVocabulary &vocabulary) {
  std::vector<uint32_t> tokens;
  for (uint32_t token = 0; token < vocabulary.size(); ++token)
    if (vocabulary.text(token).find('"') != std::string_view::npos)
      tokens.push_back(token);
  return tokens;
}

JsonConstraint::JsonConstraint(std::shared_ptr<GrammarMasks> masks,
                               std::shared_ptr<const std::vector<uint32_t>> quoted,
                               std::vector<int32_t> stopTokens)
    : vocabulary(masks->vocabulary), quoted(std::move(quoted)),
      grammar(std::move(masks), std::move(stopTokens)) {}

bool JsonConstraint::accept(int32_t token) {
  if (!grammar.accept(token))
    return false;
  const UniqueNames::State before = names.state();
  // Stop tokens have no text here.
  if (size_t(token) < vocabulary->size() && !names.take(vocabulary->text(uint32_t(token)))) {
    names.restore(before);
    grammar.rollback(1);
    return false;
  }
  states.push_back(before);
  return true;
}

void JsonConstraint::rollback(size_t count) {
  count = std::min(count, states.size());
  if (count == 0)
    return;
  grammar.rollback(count);
  names.restore(states[states.size() - count]);
  states.resize(states.size() - count);
}

Status JsonConstraint::mask(std::span<uint32_t> words) {
  if (Status status = grammar.mask(words); !status.ok())
    return status;
  const UniqueNames::State before = names.state();
  for (uint32_t token : *quoted) {
    uint32_t &word = words[token / 32];
    const uint32_t bit = 1u << (token % 32);
    if (!(word & bit))
      continue;
    if (!names.take(vocabulary->text(token)))
      word &= ~bit;
    names.restore(before);
  }
  return Status::success();
}

} // namespace ingot::runtime::guided
