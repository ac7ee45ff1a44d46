// SPDX-License-Identifier: Apache-2.0
// How vocabularies spell bytes. Byte-level ones use printable characters: 33-126, 161-172 and
// 174-255 stand for themselves, the other 68 bytes for U+0100 upward, in order. Others have a piece
// "<0xNN>" for every byte.
#pragma once

#include "runtime/serving/Unicode.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

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

/// Appends the characters that spell `bytes`, in UTF-8.
inline void appendSpelled(std::string_view bytes, std::string &out) {
  for (char c : bytes) {
    const char16_t character = characterOfByte(static_cast<unsigned char>(c));
    if (character < 0x80) {
      out += static_cast<char>(character);
    } else {
      out += static_cast<char>(0xC0 | character >> 6);
      out += static_cast<char>(0x80 | (character & 0x3F));
    }
  }
}

/// The bytes that a piece spells by characters; the piece itself where it is not spelled so, as
/// with added tokens.
inline std::string bytesOfSpelling(std::string_view piece) {
  std::string bytes;
  for (size_t offset = 0; offset < piece.size();) {
    const int byte = byteOfCharacter(nextCharacter(piece, offset));
    if (byte < 0)
      return std::string(piece);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

/// The byte that the piece "<0xNN>" stands for, or -1.
inline int byteOfPiece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>')
    return -1;
  int value = 0;
  for (char c : piece.substr(3, 2)) {
    if (c >= '0' && c <= '9')
      value = value * 16 + (c - '0');
    else if (c >= 'A' && c <= 'F')
      value = value * 16 + (c - 'A' + 10);
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + (c - 'a' + 10);
    else
      return -1;
  }
  return value;
}

} // namespace ingot::runtime
