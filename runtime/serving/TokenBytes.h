// SPDX-License-Identifier: Apache-2.0
// What tokens spell, one by one.
#pragma once

#include "runtime/guided/MarkedConstraint.h"
#include "runtime/guided/SpecialTokens.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ingot::runtime {

class Tokenizer;

/// The bytes that each of the first `vocabulary` tokens adds to a text that goes on: of a sequence
/// they are, one behind the other, what a Detokenizer gives of it after a prompt, where that is
/// UTF-8 and spaces are not cleaned up. Empty for special tokens and ids without a piece.
std::vector<std::string> tokenBytes(const Tokenizer &tokenizer, size_t vocabulary);

/// The same with special tokens, which have guided::specialBytes().
std::vector<std::string> guidedBytes(const Tokenizer &tokenizer, size_t vocabulary);

/// The names of the special tokens; of the others there is what `vocabulary`, of guidedBytes(),
/// has.
guided::SpecialNames specialNames(const Tokenizer &tokenizer,
                                  std::shared_ptr<const guided::TokenVocabulary> vocabulary);

/// The same with special tokens, which have their names.
std::shared_ptr<const guided::SpelledTokens> spelledTokens(const Tokenizer &tokenizer,
                                                           size_t vocabulary);

} // namespace ingot::runtime
