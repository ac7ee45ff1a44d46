// SPDX-License-Identifier: Apache-2.0
// Characters: what Python's str knows of code points. Text here is valid UTF-8.
#pragma once

#include "runtime/serving/Unicode.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot::runtime::jinja {

using runtime::countCharacters;

/// Bytes of the character that begins at `offset`, which is before the end.
size_t characterLength(std::string_view text, size_t offset);

/// The character that begins at `offset`.
char32_t characterAt(std::string_view text, size_t offset);

/// Where the character before `offset` begins; `offset` is not 0.
size_t previousCharacter(std::string_view text, size_t offset);

/// The byte where character `count` begins; the end where there are fewer.
size_t byteOffset(std::string_view text, size_t count);

void appendCharacter(std::string &text, char32_t character);

// As str.isspace(), .isprintable(), ... of one character.
bool isSpace(char32_t character);
bool isPrintable(char32_t character);
bool isLetter(char32_t character);
bool isDecimal(char32_t character);
bool isDigit(char32_t character);
bool isNumeric(char32_t character);
bool isUpper(char32_t character);
bool isLower(char32_t character);
bool isTitle(char32_t character);
bool isCased(char32_t character);

// Full mappings: one character may become several.
std::string upperOf(char32_t character);
std::string titleOf(char32_t character);
/// Of the character at `offset`: a capital sigma at the end of a word becomes a final one.
std::string lowerAt(std::string_view text, size_t offset);
std::string foldOf(char32_t character);

} // namespace ingot::runtime::jinja
