// SPDX-License-Identifier: Apache-2.0
// Follows strings and brackets; everything is appended, so that a place is a few counts.
#include "runtime/guided/json/UniqueNames.h"

#include <functional>

namespace ingot::runtime::guided {

void UniqueNames::restore(const State &state) {
  now = state;
  cells.resize(state.cells);
  names.resize(state.names);
  text.resize(state.text);
}

bool UniqueNames::take(std::string_view bytes) {
  for (char byte : bytes)
    if (!next(uint8_t(byte)))
      return false;
  return true;
}

void UniqueNames::open(bool isObject) {
  cells.push_back({now.cell, none, isObject});
  now.cell = now.cells++;
  now.expectsName = isObject;
}

void UniqueNames::close() {
  now.expectsName = false;
  if (cells[now.cell].parent != none)
    now.cell = cells[now.cell].parent;
}

/// As UTF-8.
void UniqueNames::append(uint32_t character) {
  if (character < 0x80) {
    text += char(character);
  } else if (character < 0x800) {
    text += char(0xC0 | character >> 6);
    text += char(0x80 | (character & 63));
  } else if (character < 0x10000) {
    text += char(0xE0 | character >> 12);
    text += char(0x80 | (character >> 6 & 63));
    text += char(0x80 | (character & 63));
  } else {
    text += char(0xF0 | character >> 18);
    text += char(0x80 | (character >> 12 & 63));
    text += char(0x80 | (character >> 6 & 63));
    text += char(0x80 | (character & 63));
  }
  now.text = uint32_t(text.size());
}

void UniqueNames::escape(uint8_t byte) {
  now.isEscape = false;
  if (byte == 'u') {
    now.digits = 4;
    now.unit = 0;
    return;
  }
  static constexpr std::string_view letters = "bfnrt", meanings = "\b\f\n\r\t";
  size_t at = letters.find(char(byte));
  append(at == std::string_view::npos ? byte : uint8_t(meanings[at]));
}

void UniqueNames::hexDigit(uint8_t byte) {
  unsigned digit = byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
  now.unit = uint16_t(now.unit << 4 | (digit & 15));
  if (--now.digits)
    return;
  if (now.unit >= 0xD800 && now.unit < 0xDC00) {
    now.lead = now.unit;
  } else if (now.unit >= 0xDC00 && now.unit < 0xE000) {
    append(0x10000 + (uint32_t(now.lead - 0xD800) << 10) + (now.unit - 0xDC00));
  } else {
    append(now.unit);
  }
}

bool UniqueNames::endName() {
  now.isName = false;
  std::string_view all(text), name = all.substr(now.nameBegin);
  size_t hash = std::hash<std::string_view>()(name);
  const Cell cell = cells[now.cell];
  for (uint32_t at = cell.lastName; at != none; at = names[at].previous)
    if (names[at].hash == hash &&
        all.substr(names[at].begin, names[at].end - names[at].begin) == name)
      return false;
  names.push_back({now.nameBegin, now.text, cell.lastName, hash});
  cells.push_back({cell.parent, now.names++, true});
  now.cell = now.cells++;
  return true;
}

bool UniqueNames::next(uint8_t byte) {
  if (now.digits) {
    hexDigit(byte);
    return true;
  }
  if (now.isEscape) {
    escape(byte);
    return true;
  }
  if (now.inString) {
    now.isEscape = byte == '\\';
    now.inString = byte != '"';
    if (!now.inString && now.isName)
      return endName();
    if (now.isName && !now.isEscape) {
      text += char(byte);
      now.text = uint32_t(text.size());
    }
    return true;
  }
  switch (byte) {
  case '"':
    now.inString = true;
    now.isName = now.expectsName;
    now.expectsName = false;
    now.nameBegin = uint32_t(text.size());
    break;
  case '{':
  case '[':
    open(byte == '{');
    break;
  case '}':
  case ']':
    close();
    break;
  case ',':
    now.expectsName = cells[now.cell].isObject;
    break;
  default:
    break;
  }
  return true;
}

} // namespace ingot::runtime::guided
