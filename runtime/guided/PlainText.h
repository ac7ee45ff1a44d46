// SPDX-License-Identifier: Apache-2.0
// Kinds of bytes that most tokens consist of, so that whole branches of tries can be taken at once.
#pragma once

#include <array>
#include <cstdint>

namespace ingot::runtime::guided {

/// Bits: what a run of bytes consists of. Text is printable ASCII without the quote and the
/// backslash, and UTF-8 that may be cut at its end.
enum Plain : uint8_t { LowerCase = 1, Alphanumeric = 2, Text = 4 };

constexpr std::array<Plain, 3> plainKinds{LowerCase, Alphanumeric, Text};

/// How far a character of UTF-8 is: 0 between characters, others below this.
constexpr uint8_t utf8States = 8;
constexpr uint8_t notUtf8 = 0xFF;

/// The state after `byte`; notUtf8 where none is.
constexpr uint8_t utf8Step(uint8_t state, uint8_t byte) {
  constexpr std::array<uint8_t, utf8States> least{0, 0x80, 0x80, 0xA0, 0x80, 0x80, 0x90, 0x80};
  constexpr std::array<uint8_t, utf8States> most{0, 0xBF, 0xBF, 0xBF, 0x9F, 0xBF, 0xBF, 0x8F};
  constexpr std::array<uint8_t, utf8States> next{0, 0, 1, 1, 1, 2, 2, 2};
  if (state != 0)
    return byte >= least[state] && byte <= most[state] ? next[state] : notUtf8;
  if (byte < 0x80)
    return 0;
  if (byte < 0xC2 || byte > 0xF4)
    return notUtf8;
  if (byte < 0xE0)
    return 1;
  if (byte < 0xF0)
    return byte == 0xE0 ? 3 : byte == 0xED ? 4 : 2;
  return byte == 0xF0 ? 6 : byte == 0xF4 ? 7 : 5;
}

/// The kinds that an ASCII byte belongs to; a byte of UTF-8 beyond is Text.
constexpr uint8_t plainKindsOf(uint8_t byte) {
  if (byte >= 0x80)
    return Text;
  if (byte >= 'a' && byte <= 'z')
    return LowerCase | Alphanumeric | Text;
  if ((byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9'))
    return Alphanumeric | Text;
  return byte < 0x20 || byte == 0x7F || byte == '"' || byte == '\\' ? 0 : Text;
}

} // namespace ingot::runtime::guided
