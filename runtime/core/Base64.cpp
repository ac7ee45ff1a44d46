// SPDX-License-Identifier: Apache-2.0
// Six bits at a time; texts of some MB are the longest.
#include "runtime/core/Base64.h"

#include <array>

namespace ingot::runtime {

static constexpr uint8_t noDigit = 64;

static constexpr std::array<uint8_t, 256> digits = [] {
  std::array<uint8_t, 256> values{};
  values.fill(noDigit);
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < alphabet.size(); ++i)
    values[uint8_t(alphabet[i])] = uint8_t(i);
  return values;
}();

std::optional<std::vector<uint8_t>> decodeBase64(std::string_view text) {
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  if (text.size() % 4 == 1 || (padding > 0 && (text.size() + padding) % 4 != 0))
    return std::nullopt;
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t word = 0;
  int bits = 0;
  for (char character : text) {
    const uint8_t digit = digits[uint8_t(character)];
    if (digit == noDigit)
      return std::nullopt;
    word = word << 6 | digit;
    if (bits += 6; bits >= 8) {
      bits -= 8;
      bytes.push_back(uint8_t(word >> bits));
      word &= (1u << bits) - 1;
    }
  }
  if (word != 0)
    return std::nullopt;
  return bytes;
}

} // namespace ingot::runtime
