// SPDX-License-Identifier: Apache-2.0
// Spellings of known texts.
#include "runtime/guided/json/JsonSpelling.h"

#include "runtime/guided/Characters.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ingot::runtime::guided {

std::string plainSpelling(std::string_view text, Spelling spelling) {
  if (spelling == Spelling::Utf8)
    return std::string(text);
  static constexpr std::string_view shortOnes = "\b\f\n\r\t", letters = "bfnrt";
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (char c : text) {
    size_t at = shortOnes.find(c);
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (at != std::string_view::npos)
      result += std::string("\\") + letters[at];
    else if (uint8_t(c) < 0x20)
      result += std::string("\\u00") + digits[uint8_t(c) >> 4] + digits[c & 15];
    else
      result += c;
  }
  return result;
}

/// Bytes of the character that begins with `lead`, in valid UTF-8.
static size_t lengthOf(char lead) {
  uint8_t byte = uint8_t(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

static ExpressionId writtenCharacter(ExpressionArena &arena, std::string_view character,
                                     Spelling spelling) {
  uint8_t byte = uint8_t(character[0]);
  bool isPlain = byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
  return isPlain ? arena.literal(character) : spelledText(arena, character, spelling);
}

ExpressionId writtenText(ExpressionArena &arena, std::string_view text, Spelling spelling) {
  std::vector<ExpressionId> parts;
  for (size_t at = 0; at < text.size();) {
    size_t length = lengthOf(text[at]);
    parts.push_back(writtenCharacter(arena, text.substr(at, length), spelling));
    at += length;
  }
  return arena.concatenation(parts);
}

/// The rests of `texts`, sorted and alike up to `from`, as a tree. Its height is the longest text,
/// so chains of single texts are no recursion.
template <class Character>
static ExpressionId tree(ExpressionArena &arena, std::span<const std::string> texts, size_t from,
                         const Character &character, Spelling spelling) {
  if (texts.size() == 1) {
    std::string_view rest = std::string_view(texts[0]).substr(from);
    std::vector<ExpressionId> parts;
    for (size_t at = 0; at < rest.size(); at += lengthOf(rest[at]))
      parts.push_back(character(arena, rest.substr(at, lengthOf(rest[at])), spelling));
    return arena.concatenation(parts);
  }
  std::vector<ExpressionId> alternatives;
  size_t begin = 0;
  for (; begin < texts.size() && texts[begin].size() == from; ++begin)
    alternatives.push_back(ExpressionArena::empty);
  while (begin < texts.size()) {
    std::string_view lead =
        std::string_view(texts[begin]).substr(from, lengthOf(texts[begin][from]));
    size_t end = begin + 1;
    while (end < texts.size() && std::string_view(texts[end]).substr(from).starts_with(lead))
      ++end;
    ExpressionId rest =
        tree(arena, texts.subspan(begin, end - begin), from + lead.size(), character, spelling);
    alternatives.push_back(arena.concatenation(character(arena, lead, spelling), rest));
    begin = end;
  }
  return arena.alternation(alternatives);
}

/// Two texts of more common characters than this are no tree: it is built by recursion.
constexpr size_t mostShared = 1024;

template <class Character>
static ExpressionId treeOf(ExpressionArena &arena, std::span<const std::string> texts,
                           const Character &character, Spelling spelling) {
  if (texts.empty())
    return ExpressionArena::nothing;
  std::vector<std::string> sorted(texts.begin(), texts.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  bool isDeep = std::any_of(sorted.begin(), sorted.end(),
                            [](const std::string &text) { return text.size() > mostShared; });
  if (!isDeep)
    return tree(arena, std::span<const std::string>(sorted), 0, character, spelling);
  std::vector<ExpressionId> alternatives;
  for (const std::string &text : sorted)
    alternatives.push_back(
        tree(arena, std::span<const std::string>(&text, 1), 0, character, spelling));
  return arena.alternation(alternatives);
}

ExpressionId writtenTexts(ExpressionArena &arena, std::span<const std::string> texts,
                          Spelling spelling) {
  return treeOf(arena, texts, writtenCharacter, spelling);
}

ExpressionId anySpelling(ExpressionArena &arena, std::span<const std::string> texts,
                         Spelling spelling) {
  return treeOf(arena, texts, spelledText, spelling);
}

/// The texts that plainSpelling() gives.
static ExpressionId plainTexts(ExpressionArena &arena) {
  const CharacterSet barred({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  ByteSet letters, digits;
  for (char letter : std::string_view("\"\\bfnrt"))
    letters.add(uint8_t(letter));
  for (char digit : std::string_view("0123456789abcdef"))
    digits.add(uint8_t(digit));
  const ExpressionId code =
      arena.concatenation({arena.literal("u00"), arena.range('0', '1'), arena.bytes(digits)});
  ByteSet controls;
  for (char control : std::string_view("89acd"))
    controls.add(uint8_t(control));
  const ExpressionId shortOnes = arena.concatenation(arena.literal("u000"), arena.bytes(controls));
  const ExpressionId escape = arena.concatenation(
      arena.literal("\\"),
      arena.alternation(arena.bytes(letters), arena.difference(code, shortOnes)));
  return arena.star(arena.alternation(spelled(arena, barred.complement(), Spelling::Utf8), escape));
}

std::optional<std::vector<std::string>> fewTexts(ExpressionArena &arena, ExpressionId id,
                                                 size_t most, Spelling spelling) {
  struct Begun {
    std::string text;
    ExpressionId rest;
  };
  std::vector<std::string> found;
  // Beginnings of one length lead to different texts: as many as there are, at least.
  const bool isPlain = spelling == Spelling::Utf8;
  std::vector<Begun> begun{{"", isPlain ? id : arena.intersection(id, plainTexts(arena))}}, longer;
  for (; !begun.empty(); begun.swap(longer)) {
    longer.clear();
    for (const Begun &one : begun) {
      if (arena.nullable(one.rest))
        found.push_back(one.text);
      for (int byte = isPlain ? 0 : 0x20; byte < 0x100; ++byte) {
        const ExpressionId rest = arena.derivative(one.rest, uint8_t(byte));
        if (rest == ExpressionArena::nothing || arena.isEmpty(rest))
          continue;
        longer.push_back({one.text + char(byte), rest});
        if (found.size() + longer.size() > most || !arena.status().ok())
          return {};
      }
    }
    if (found.size() > most)
      return {};
  }
  for (std::string &text : found)
    text = isPlain ? text : nlohmann::json::parse('"' + text + '"').get<std::string>();
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace ingot::runtime::guided
