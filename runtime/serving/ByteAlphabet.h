// SPDX-License-Identifier: Apache-2.0
// The printable characters by which byte-level vocabularies spell bytes: 33-126, 161-172 and
// 174-255 stand for themselves, the other 68 bytes for U+0100 upward, in order.
#pragma once

#include <array>
#include <cstdint>

namespace ingot::runtime {

namespace bytealphabet {

constexpr bool standsForItself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr std::array<char16_t, 256> makeCharacters() {
  std::array<char16_t, 256> characters{};
  char16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    characters[byte] = standsForItself(byte) ? static_cast<char16_t>(byte) : next++;
  return characters;
}

/// One past the last character in use.
constexpr char32_t limit = 0x100 + 68;

constexpr std::array<int16_t, limit> makeBytes() {
  std::array<int16_t, limit> bytes{};
  bytes.fill(-1);
  const auto characters = makeCharacters();
  for (unsigned byte = 0; byte < 256; ++byte)
    bytes[characters[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

inline constexpr auto characters = makeCharacters();
inline constexpr auto bytes = makeBytes();

} // namespace bytealphabet

/// The character that spells `byte`; below U+0800, so two bytes of UTF-8 at most.
constexpr char16_t characterOfByte(unsigned char byte) { return bytealphabet::characters[byte]; }

/// The byte `character` spells, or -1.
constexpr int byteOfCharacter(char32_t character) {
  return character < bytealphabet::limit ? bytealphabet::bytes[character] : -1;
}

} // namespace ingot::runtime
