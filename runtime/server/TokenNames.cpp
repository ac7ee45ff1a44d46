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

std::string TokenNames::nameOf(int32_t token) const {
  if (!tokenizer || !tokenizer->hasPiece(token))
    return numberOf(token);
  Detokenizer detokenizer(*tokenizer, DecodeOptions{.skipSpecial = false});
  if (before >= 0)
    detokenizer.follow(std::span(&before, 1));
  std::string name = detokenizer.push(token);
  name += detokenizer.finish();
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  return name.find(replacement) == name.npos ? name : numberOf(token);
}

} // namespace ingot::runtime
