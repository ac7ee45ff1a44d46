// SPDX-License-Identifier: Apache-2.0
// Sets of characters to expressions over the bytes that spell them.
#include "runtime/guided/Characters.h"

#include "runtime/guided/Hash.h"

#include <algorithm>
#include <array>
#include <map>

namespace ingot::runtime::guided {

constexpr char32_t lastCharacter = 0x10FFFF;

CharacterSet::CharacterSet(std::vector<CharacterRange> parts) : ranges(std::move(parts)) {
  normalise();
}

void CharacterSet::add(char32_t first, char32_t last) {
  ranges.push_back({first, last});
  normalise();
}

void CharacterSet::add(const CharacterSet &other) {
  ranges.insert(ranges.end(), other.ranges.begin(), other.ranges.end());
  normalise();
}

void CharacterSet::normalise() {
  std::vector<CharacterRange> parts;
  for (CharacterRange range : ranges) { // Without the surrogates.
    range.last = std::min(range.last, lastCharacter);
    if (range.first < 0xD800 && range.first <= range.last)
      parts.push_back({range.first, std::min(range.last, char32_t(0xD7FF))});
    if (range.last > 0xDFFF && range.first <= range.last)
      parts.push_back({std::max(range.first, char32_t(0xE000)), range.last});
  }
  std::ranges::sort(parts, {}, &CharacterRange::first);
  ranges.clear();
  for (const CharacterRange &range : parts) {
    if (!ranges.empty() && range.first <= ranges.back().last + 1)
      ranges.back().last = std::max(ranges.back().last, range.last);
    else
      ranges.push_back(range);
  }
}

CharacterSet CharacterSet::complement() const {
  std::vector<CharacterRange> gaps;
  char32_t next = 0;
  for (const CharacterRange &range : ranges) {
    if (range.first > next)
      gaps.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= lastCharacter)
    gaps.push_back({next, lastCharacter});
  return CharacterSet(std::move(gaps));
}

bool CharacterSet::contains(char32_t character) const {
  auto after = std::ranges::upper_bound(ranges, character, {}, &CharacterRange::first);
  return after != ranges.begin() && character <= std::prev(after)->last;
}

/// The members of `set` from first to last.
static CharacterSet clipped(const CharacterSet &set, char32_t first, char32_t last) {
  std::vector<CharacterRange> parts;
  for (const CharacterRange &range : set.parts())
    if (range.first <= last && range.last >= first)
      parts.push_back({std::max(range.first, first), std::min(range.last, last)});
  return CharacterSet(std::move(parts));
}

namespace {

/// Spells numbers of a set in digits of a fixed base, the most significant first, as the smallest
/// tree: digits that go on alike share a branch.
class DigitSpeller {
public:
  /// `ranges` are sorted and disjoint; `digit` gives the bytes of a digit of `bits` bits.
  template <class Digit>
  DigitSpeller(ExpressionArena &arena, std::span<const CharacterRange> ranges, int bits,
               const Digit &digit)
      : arena(arena), ranges(ranges), bits(bits) {
    for (uint32_t value = 0; value < 1u << bits; ++value) {
      digitBytes[value] = digit(value);
      all = all | digitBytes[value];
    }
  }

  /// The numbers from base to base + 2^(bits * digits) - 1.
  ExpressionId block(uint32_t base, int digits) {
    const uint32_t last = base + (1u << (bits * digits)) - 1;
    auto range = std::ranges::lower_bound(ranges, char32_t(base), {}, &CharacterRange::last);
    if (range == ranges.end() || range->first > last)
      return ExpressionArena::nothing;
    if (digits == 0)
      return ExpressionArena::empty;
    if (range->first <= base && range->last >= last)
      return full(digits);
    if (digits == 1)
      return lastDigits(base, range);
    std::map<ExpressionId, ByteSet> branches;
    for (uint32_t value = 0; value < 1u << bits; ++value)
      if (ExpressionId rest = block(base + (value << (bits * (digits - 1))), digits - 1);
          rest != ExpressionArena::nothing)
        branches[rest] = branches[rest] | digitBytes[value];
    std::vector<ExpressionId> alternatives;
    for (const auto &[rest, set] : branches)
      alternatives.push_back(arena.concatenation(arena.bytes(set), rest));
    return arena.alternation(alternatives);
  }

private:
  /// The numbers of `range` and those behind it that differ from `base` in the last digit alone.
  ExpressionId lastDigits(uint32_t base, std::span<const CharacterRange>::iterator range) {
    const uint32_t last = base + (1u << bits) - 1;
    ByteSet set;
    for (; range != ranges.end() && range->first <= last; ++range)
      for (uint32_t number = std::max<uint32_t>(range->first, base);
           number <= std::min<uint32_t>(range->last, last); ++number)
        set = set | digitBytes[number - base];
    return arena.bytes(set);
  }
  ExpressionId full(int digits) {
    ExpressionId &known = fulls[size_t(digits)];
    if (known == ExpressionArena::nothing)
      known = arena.repeat(arena.bytes(all), uint32_t(digits), uint32_t(digits));
    return known;
  }

  ExpressionArena &arena;
  std::span<const CharacterRange> ranges;
  int bits;
  std::array<ByteSet, 64> digitBytes;
  ByteSet all;
  std::array<ExpressionId, 5> fulls{}; ///< by digits
};

} // namespace

static ByteSet one(uint32_t byte) { return ByteSet::range(uint8_t(byte), uint8_t(byte)); }

/// The characters of `set` that UTF-8 spells with `continuations` bytes after the first.
static ExpressionId utf8Of(ExpressionArena &arena, const CharacterSet &set, int continuations) {
  constexpr std::array<CharacterRange, 4> lengths{
      {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, lastCharacter}}};
  constexpr std::array<uint32_t, 4> leads{0, 0xC0, 0xE0, 0xF0};
  constexpr std::array<uint32_t, 4> leadCounts{0x80, 0x20, 0x10, 5};
  const auto [first, last] = lengths[size_t(continuations)];
  CharacterSet part = clipped(set, first, last);
  if (part.none())
    return ExpressionArena::nothing;
  if (continuations == 0) {
    ByteSet set;
    for (const CharacterRange &range : part.parts())
      set = set | ByteSet::range(uint8_t(range.first), uint8_t(range.last));
    return arena.bytes(set);
  }
  DigitSpeller speller(arena, part.parts(), 6, [](uint32_t value) { return one(0x80 | value); });
  std::map<ExpressionId, ByteSet> branches;
  for (uint32_t lead = 0; lead < leadCounts[size_t(continuations)]; ++lead)
    if (ExpressionId rest = speller.block(lead << (6 * continuations), continuations);
        rest != ExpressionArena::nothing)
      branches[rest].add(uint8_t(leads[size_t(continuations)] | lead));
  std::vector<ExpressionId> alternatives;
  for (const auto &[rest, heads] : branches)
    alternatives.push_back(arena.concatenation(arena.bytes(heads), rest));
  return arena.alternation(alternatives);
}

static ExpressionId utf8(ExpressionArena &arena, const CharacterSet &set) {
  return arena.alternation(
      {utf8Of(arena, set, 0), utf8Of(arena, set, 1), utf8Of(arena, set, 2), utf8Of(arena, set, 3)});
}

/// Four hexadecimal digits of either case: the 16-bit units of `ranges`.
static ExpressionId hexadecimal(ExpressionArena &arena, std::span<const CharacterRange> ranges) {
  if (ranges.empty())
    return ExpressionArena::nothing;
  DigitSpeller speller(arena, ranges, 4, [](uint32_t value) {
    return value < 10 ? one('0' + value) : one('a' + value - 10) | one('A' + value - 10);
  });
  return speller.block(0, 4);
}

/// The pairs \uD8..\uDC.. of the characters of `set` above U+FFFF.
static ExpressionId surrogatePairs(ExpressionArena &arena, const CharacterSet &set) {
  CharacterSet part = clipped(set, 0x10000, lastCharacter);
  if (part.none())
    return ExpressionArena::nothing;
  std::map<ExpressionId, std::vector<CharacterRange>> firsts;
  ExpressionId all = ExpressionArena::nothing;
  for (char32_t high = 0; high < 0x400; ++high) {
    char32_t base = 0x10000 + (high << 10);
    auto range = std::ranges::lower_bound(part.parts(), base, {}, &CharacterRange::last);
    if (range == part.parts().end() || range->first > base + 0x3FF)
      continue;
    std::vector<CharacterRange> lows;
    for (; range != part.parts().end() && range->first <= base + 0x3FF; ++range)
      lows.push_back({0xDC00 + (std::max(range->first, base) - base),
                      0xDC00 + (std::min(range->last, char32_t(base + 0x3FF)) - base)});
    bool whole = lows.front().first == 0xDC00 && lows.front().last == 0xDFFF;
    if (whole && all == ExpressionArena::nothing)
      all = hexadecimal(arena, lows);
    auto &list = firsts[whole ? all : hexadecimal(arena, lows)];
    if (!list.empty() && list.back().last + 1 == 0xD800 + high)
      ++list.back().last;
    else
      list.push_back({0xD800 + high, 0xD800 + high});
  }
  std::vector<ExpressionId> alternatives;
  for (const auto &[low, highs] : firsts)
    alternatives.push_back(
        arena.concatenation({hexadecimal(arena, highs), arena.literal("\\u"), low}));
  return arena.alternation(alternatives);
}

static ExpressionId escapes(ExpressionArena &arena, const CharacterSet &set, bool isJson) {
  constexpr std::array<std::pair<char32_t, char>, 8> shortEscapes{{{'"', '"'},
                                                                   {'\\', '\\'},
                                                                   {'/', '/'},
                                                                   {'\b', 'b'},
                                                                   {'\f', 'f'},
                                                                   {'\n', 'n'},
                                                                   {'\r', 'r'},
                                                                   {'\t', 't'}}};
  ByteSet letters;
  for (auto [character, letter] : shortEscapes)
    if (set.contains(character) && (isJson || letter != '/'))
      letters.add(uint8_t(letter));
  CharacterSet basic = clipped(set, 0, 0xFFFF);
  ExpressionId units = hexadecimal(arena, basic.parts());
  if (isJson)
    units = arena.alternation(units, surrogatePairs(arena, set));
  return arena.concatenation(
      arena.range('\\', '\\'),
      arena.alternation(arena.bytes(letters), arena.concatenation(arena.range('u', 'u'), units)));
}

ExpressionId spelled(ExpressionArena &arena, const CharacterSet &set, Spelling spelling) {
  uint64_t key = mixed(uint64_t(spelling));
  for (const CharacterRange &range : set.parts())
    key = mixed(key ^ (uint64_t(range.first) << 32 | range.last));
  // Schemas spell the same few sets again and again, that of all characters above all.
  if (const ExpressionId known = arena.noted(key); known != ExpressionArena::nothing)
    return known;
  ExpressionId result;
  if (spelling == Spelling::Utf8) {
    result = utf8(arena, set);
  } else {
    CharacterSet barred({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
    barred.add(set.complement());
    result = arena.alternation(utf8(arena, barred.complement()),
                               escapes(arena, set, spelling == Spelling::JsonString));
  }
  if (spelling != Spelling::PythonString)
    arena.declareText(result, int(spelling));
  arena.note(key, result);
  return result;
}

ExpressionId anyText(ExpressionArena &arena, Spelling spelling) {
  ExpressionId result = arena.star(spelled(arena, CharacterSet::all(), spelling));
  if (spelling != Spelling::PythonString)
    arena.declareAllText(result, int(spelling));
  return result;
}

bool decodeCharacter(std::string_view text, size_t &offset, char32_t &character) {
  if (offset >= text.size())
    return false;
  const auto lead = uint8_t(text[offset]);
  const size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || more >= text.size() - offset)
    return false;
  char32_t value = more == 0 ? lead : lead & (0x3Fu >> more);
  for (size_t i = 1; i <= more; ++i) {
    const auto byte = uint8_t(text[offset + i]);
    if ((byte & 0xC0) != 0x80)
      return false;
    value = value << 6 | (byte & 0x3F);
  }
  constexpr std::array<char32_t, 4> least{0, 0x80, 0x800, 0x10000};
  if (value < least[more] || value > lastCharacter || (value >= 0xD800 && value <= 0xDFFF))
    return false;
  offset += more + 1;
  character = value;
  return true;
}

ExpressionId spelledText(ExpressionArena &arena, std::string_view text, Spelling spelling) {
  if (spelling == Spelling::Utf8)
    return arena.literal(text);
  std::vector<ExpressionId> parts;
  char32_t character = 0;
  for (size_t offset = 0; decodeCharacter(text, offset, character);)
    parts.push_back(spelled(arena, CharacterSet({{character, character}}), spelling));
  return arena.concatenation(parts);
}

} // namespace ingot::runtime::guided
