// SPDX-License-Identifier: Apache-2.0
// UTF-8 and the few character classes the tokenizer needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Bytes of the UTF-8 sequence that starts with `lead`; 1 for bytes that start none.
size_t utf8Length(unsigned char lead);

/// The length of the longest prefix of `text` that is valid UTF-8 (no surrogates, no overlong
/// forms); text.size() if all of it is.
size_t validUtf8Prefix(std::string_view text);

/// How the sequence at the start of `text` stands: Complete has `length` bytes; Partial is a valid
/// beginning that needs more bytes; Invalid is a maximal bad part of `length` bytes (at least 1).
struct Utf8Sequence {
  enum Kind { Complete, Partial, Invalid } kind;
  size_t length;
};

/// `text` must not be empty.
Utf8Sequence classifyUtf8(std::string_view text);

/// Decodes the character at `text[offset]` and moves `offset` behind it. `text` must be valid
/// UTF-8 and `offset` a character boundary before its end.
char32_t nextCharacter(std::string_view text, size_t &offset);

/// Characters of `text`, which is valid UTF-8.
size_t countCharacters(std::string_view text);

/// Unicode White_Space.
bool isWhitespace(char32_t character);

/// A character of words: letters, marks, digits, connector punctuation.
bool isWordCharacter(char32_t character);

/// The offset behind the white space at the start of `text`.
size_t skipWhitespace(std::string_view text);

/// The length of `text` without the white space at its end.
size_t trimWhitespace(std::string_view text);

} // namespace ingot::runtime
