// SPDX-License-Identifier: Apache-2.0
// A token is decoded behind another one.
#include "runtime/server/TokenNames.h"

namespace ingot::runtime {

TokenNames::TokenNames(const Tokenizer *tokenizer) : tokenizer(tokenizer) {
  if (!tokenizer)
    return;
  Result<std::vector<int32_t>> letter = tokenizer->encode("a", false, false);
  if (letter.ok() && !letter->empty())
    before = letter->back();
}

/// With replacement characters where it is no whole text.
std::string TokenNames::textOf(int32_t token) const {
  Detokenizer detokenizer(*tokenizer, DecodeOptions{.skipSpecial = false});
  if (before >= 0)
    detokenizer.follow(std::span(&before, 1));
  std::string text = detokenizer.push(token);
  return text += detokenizer.finish();
}

std::string TokenNames::nameOf(int32_t token) const {
  if (!tokenizer || !tokenizer->hasPiece(token))
    return numberOf(token);
  std::string name = textOf(token);
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  return name.find(replacement) == name.npos ? name : numberOf(token);
}

std::optional<std::string> TokenNames::bytesOf(int32_t token) const {
  if (!tokenizer || !tokenizer->hasPiece(token))
    return std::nullopt;
  std::optional<std::string> bytes = tokenizer->bytesOf(token);
  return bytes ? std::move(bytes) : textOf(token);
}

} // namespace ingot::runtime
