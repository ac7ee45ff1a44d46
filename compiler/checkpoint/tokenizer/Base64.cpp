// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, section 4), as tiktoken files and tokenizer.json hold bytes.
#include "compiler/checkpoint/tokenizer/Base64.h"

#include <cstdint>

namespace ingot::checkpoint {

static int digitOf(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = digitOf(text[i]);
    if (digit < 0)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 0)
      bytes += static_cast<char>(bits >> (6 - i % 4 * 2));
  }
  return bytes;
}

} // namespace ingot::checkpoint
