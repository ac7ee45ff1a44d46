// SPDX-License-Identifier: Apache-2.0
// Tokens are decoded one by one; where that is not the text, the two are aligned.
#include "runtime/serving/PromptOffsets.h"

#include "runtime/serving/Unicode.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

/// How far behind a difference the two texts are looked at, and how many characters must be alike
/// there. A normalizer rewrites single characters, or runs of spaces.
constexpr size_t farthest = 64, enough = 4;

std::u32string charactersOf(std::string_view text) {
  std::u32string characters;
  for (size_t offset = 0; offset < text.size();)
    characters += nextCharacter(text, offset);
  return characters;
}

/// Whether two texts go on alike.
bool agree(std::u32string_view one, std::u32string_view other) {
  size_t length = std::min({one.size(), other.size(), enough});
  bool bothEnd = one.empty() && other.empty();
  return (length > 0 || bothEnd) && one.substr(0, length) == other.substr(0, length) &&
         (length == enough || one.size() == other.size());
}

/// For each place in `decoded`, its end too, the place in `text`.
std::vector<int64_t> align(std::u32string_view decoded, std::u32string_view text) {
  std::vector<int64_t> places(decoded.size() + 1, int64_t(text.size()));
  size_t from = 0, to = 0;
  /// Characters of each that stand for each other without being alike.
  auto pass = [&](size_t count, size_t others) {
    for (size_t i = 0; i < count; ++i)
      places[from + i] = int64_t(to + std::min(i, others));
    from += count;
    to += others;
  };
  auto meet = [&] {
    for (size_t all = 1; all <= farthest; ++all)
      for (size_t count = 0; count <= all; ++count)
        if (count <= decoded.size() - from && all - count <= text.size() - to &&
            agree(decoded.substr(from + count), text.substr(to + all - count)))
          return pass(count, all - count);
    pass(decoded.size() - from, text.size() - to);
  };
  while (from < decoded.size())
    if (to < text.size() && decoded[from] == text[to])
      pass(1, 1);
    else
      meet();
  return places;
}

} // namespace

std::vector<int64_t> promptOffsets(const Tokenizer &tokenizer, std::span<const int32_t> tokens,
                                   std::string_view text, const PromptShape &shape) {
  std::vector<int64_t> offsets(tokens.size(), 0);
  size_t first = std::min(shape.before, tokens.size());
  size_t end = tokens.size() - std::min(shape.behind, tokens.size() - first);
  Detokenizer detokenizer(tokenizer, DecodeOptions{.skipSpecial = shape.skipSpecial});
  std::string decoded;
  int64_t characters = 0;
  for (size_t i = first; i < end; ++i) {
    std::string piece = detokenizer.push(tokens[i]);
    offsets[i] = characters + int64_t(detokenizer.earlier());
    characters += int64_t(countCharacters(piece));
    decoded += piece;
  }
  decoded += detokenizer.finish();
  std::u32string given = charactersOf(text);
  if (decoded != text) {
    std::vector<int64_t> places = align(charactersOf(decoded), given);
    for (size_t i = first; i < end; ++i)
      offsets[i] = places[size_t(offsets[i])];
  }
  std::fill(offsets.begin() + ptrdiff_t(end), offsets.end(), int64_t(given.size()));
  return offsets;
}

} // namespace ingot::runtime
