// SPDX-License-Identifier: Apache-2.0
// Finds added tokens (special tokens and the like) in a text: leftmost, then longest.
#include "runtime/serving/AddedTokens.h"

#include "runtime/serving/Unicode.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

/// Whether `token` stands alone at text[begin, end): no word character touches it.
bool standsAlone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0) {
    size_t start = begin - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
      --start;
    if (isWordCharacter(nextCharacter(text, start)))
      return false;
  }
  return end == text.size() || !isWordCharacter(nextCharacter(text, end));
}

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : sorted(std::move(tokens)) {
  // Of equal patterns the lowest id wins.
  std::sort(sorted.begin(), sorted.end(), [](const AddedToken &a, const AddedToken &b) {
    return a.pattern != b.pattern ? a.pattern < b.pattern : a.id < b.id;
  });
  auto last =
      std::unique(sorted.begin(), sorted.end(),
                  [](const AddedToken &a, const AddedToken &b) { return a.pattern == b.pattern; });
  sorted.erase(last, sorted.end());
  size_t next = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    firstByte[byte] = static_cast<uint32_t>(next);
    while (next < sorted.size() && static_cast<unsigned char>(sorted[next].pattern[0]) == byte)
      ++next;
  }
  firstByte[256] = static_cast<uint32_t>(next);
}

const AddedToken *AddedTokens::longestAt(std::string_view text) const {
  const auto byte = static_cast<unsigned char>(text[0]);
  size_t low = firstByte[byte], high = firstByte[byte + 1];
  const AddedToken *longest = nullptr;
  // [low, high) are the patterns that agree with the first `depth` bytes of `text`; they are
  // sorted, so one that ends there comes first.
  for (size_t depth = 1; low < high; ++depth) {
    if (sorted[low].pattern.size() == depth)
      longest = &sorted[low++];
    if (depth == text.size() || low == high)
      break;
    const auto wanted = static_cast<unsigned char>(text[depth]);
    auto byteAt = [depth](const AddedToken &token) {
      return static_cast<unsigned char>(token.pattern[depth]);
    };
    const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(high);
    const auto from = std::partition_point(
        begin, end, [&](const AddedToken &token) { return byteAt(token) < wanted; });
    const auto to = std::partition_point(
        from, end, [&](const AddedToken &token) { return byteAt(token) <= wanted; });
    low = static_cast<size_t>(from - sorted.begin());
    high = static_cast<size_t>(to - sorted.begin());
  }
  return longest;
}

std::vector<Segment> AddedTokens::find(std::string_view text, bool parseSpecial) const {
  const Special always = parseSpecial ? Special::Token : Special::Text;
  return find(text, [always](const AddedToken &, size_t) { return always; });
}

std::vector<Segment> AddedTokens::find(std::string_view text, const Decide &decide) const {
  std::vector<Segment> segments;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const AddedToken *token = longestAt(text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->pattern.size();
    at = end;
    const Special special = token->special ? decide(*token, begin) : Special::Token;
    if (special == Special::Unsure)
      at = begin + 1;
    if (special != Special::Token)
      continue;
    if (token->singleWord && !standsAlone(text, begin, end))
      continue;
    if (token->leftStrip)
      begin = done + trimWhitespace(text.substr(done, begin - done));
    if (token->rightStrip)
      at = end += skipWhitespace(text.substr(end));
    if (done < begin)
      segments.push_back({done, begin, -1});
    segments.push_back({begin, end, token->id});
    done = end;
  }
  if (done < text.size())
    segments.push_back({done, text.size(), -1});
  return segments;
}

} // namespace ingot::runtime
