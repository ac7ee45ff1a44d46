// SPDX-License-Identifier: Apache-2.0
// UTF-8 and the few character classes the tokenizer needs.
#include "runtime/serving/Unicode.h"

#include <utf8proc.h>

namespace ingot::runtime {

size_t countCharacters(std::string_view text) {
  size_t count = 0;
  for (const char byte : text)
    count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return count;
}

size_t utf8Length(unsigned char lead) {
  if (lead < 0xC0)
    return 1;
  if (lead < 0xE0)
    return 2;
  if (lead < 0xF0)
    return 3;
  return lead < 0xF8 ? 4 : 1;
}

Utf8Sequence classifyUtf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return {Utf8Sequence::Complete, 1};
  if (lead < 0xC2 || lead > 0xF4)
    return {Utf8Sequence::Invalid, 1};
  const size_t length = utf8Length(lead);
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size())
      return {Utf8Sequence::Partial, i};
    // The second byte excludes overlong forms, surrogates and values above U+10FFFF.
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {
      if (lead == 0xE0)
        low = 0xA0;
      else if (lead == 0xED)
        high = 0x9F;
      else if (lead == 0xF0)
        low = 0x90;
      else if (lead == 0xF4)
        high = 0x8F;
    }
    if (byte(i) < low || byte(i) > high)
      return {Utf8Sequence::Invalid, i};
  }
  return {Utf8Sequence::Complete, length};
}

size_t validUtf8Prefix(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Utf8Sequence sequence = classifyUtf8(text.substr(offset));
    if (sequence.kind != Utf8Sequence::Complete)
      return offset;
    offset += sequence.length;
  }
  return offset;
}

char32_t nextCharacter(std::string_view text, size_t &offset) {
  const auto lead = static_cast<unsigned char>(text[offset]);
  const size_t length = utf8Length(lead);
  char32_t character = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i)
    character = character << 6 | (static_cast<unsigned char>(text[offset + i]) & 0x3F);
  offset += length;
  return character;
}

bool isWhitespace(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool isWordCharacter(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    return c == 0x200C || c == 0x200D;
  }
}

size_t skipWhitespace(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    size_t next = offset;
    if (!isWhitespace(nextCharacter(text, next)))
      break;
    offset = next;
  }
  return offset;
}

size_t trimWhitespace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
      --start;
    size_t next = start;
    if (!isWhitespace(nextCharacter(text, next)))
      break;
    end = start;
  }
  return end;
}

} // namespace ingot::runtime
