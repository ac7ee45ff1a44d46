// SPDX-License-Identifier: Apache-2.0
// Where the tokens of a prompt begin in the text that an echo gives of it.
#pragma once

#include "runtime/serving/Tokenizer.h"

#include <span>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// How a prompt's text and its tokens belong together.
struct PromptShape {
  size_t before = 0,
         behind = 0;        ///< tokens that the text does not spell: the model's prefix, suffix
  bool skipSpecial = false; ///< nor does it spell special ones
};

/// Characters of `text` before each token; for the parts of a character, those before it. `text` is
/// what the tokens spell, or what it was before the tokenizer rewrote it: what was rewritten is
/// found by what stands beside it.
std::vector<int64_t> promptOffsets(const Tokenizer &tokenizer, std::span<const int32_t> tokens,
                                   std::string_view text, const PromptShape &shape);

} // namespace ingot::runtime
