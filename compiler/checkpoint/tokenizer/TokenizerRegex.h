// SPDX-License-Identifier: Apache-2.0
// Translates the regular expressions of tokenizer.json (Oniguruma's Ruby syntax) to PCRE2.
#pragma once

#include "compiler/checkpoint/files/Error.h"

namespace ingot::checkpoint {

/// White_Space as the inside of a PCRE2 character class; PCRE2's own \s also has U+180E.
constexpr std::string_view whitespaceClass = R"(\t-\r\x{20}\x{85}\p{Z})";

/// `pattern` in the syntax and with the meaning PCRE2 gives it under UTF, UCP and MULTILINE.
/// Errors: INGOT-E1410 for what has no translation or does not compile, naming it.
Expected<std::string> translateRegex(std::string_view pattern, const std::string &where);

/// How Llama 3 and Qwen2 cut words, in the syntax of tokenizer.json; `digits` is the part for
/// digits, in which alone they differ.
std::string wordRegex(std::string_view digits);

/// How Kimi K2 cuts words: Han characters by themselves, other letters where small ones end.
std::string kimiWordRegex();

/// A PCRE2 pattern that matches `text` and nothing else.
std::string escapeRegex(std::string_view text);

} // namespace ingot::checkpoint
