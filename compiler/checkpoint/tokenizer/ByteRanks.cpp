// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE whose merges follow from ranks.
#include "compiler/checkpoint/tokenizer/ByteRanks.h"

#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace ingot::checkpoint {

namespace {

using Ranks = std::unordered_map<std::string_view, uint32_t>;

/// The printable characters by which byte-level vocabularies spell bytes: 33-126, 161-172 and
/// 174-255 stand for themselves, the other 68 bytes for U+0100 upward, in order.
std::array<std::string, 256> makeByteAlphabet() {
  std::array<std::string, 256> alphabet;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const unsigned character = itself ? byte : next++;
    if (character >= 0x80)
      alphabet[byte] += static_cast<char>(0xC0 | character >> 6);
    alphabet[byte] += static_cast<char>(character < 0x80 ? character : 0x80 | (character & 0x3F));
  }
  return alphabet;
}

/// The last merge on the way from the bytes of `token` to all of it: the token's two halves.
/// Nothing if merging stops before, so that the token is only ever taken as a whole word.
std::optional<std::pair<uint32_t, uint32_t>> halvesOf(std::string_view token, uint32_t rank,
                                                      const Ranks &ranks) {
  // parts[i] starts at cuts[i]; joined[i] is the rank of parts i and i + 1 as one, or maxTokenId.
  std::vector<size_t> cuts(token.size() + 1);
  for (size_t i = 0; i < cuts.size(); ++i)
    cuts[i] = i;
  auto rankOf = [&](size_t i) {
    if (i + 2 >= cuts.size())
      return static_cast<uint32_t>(maxTokenId);
    const auto found = ranks.find(token.substr(cuts[i], cuts[i + 2] - cuts[i]));
    return found == ranks.end() ? static_cast<uint32_t>(maxTokenId) : found->second;
  };
  std::vector<uint32_t> joined(token.size());
  for (size_t i = 0; i < joined.size(); ++i)
    joined[i] = rankOf(i);
  while (cuts.size() > 3) {
    const auto lowest = std::min_element(joined.begin(), joined.end());
    if (*lowest >= rank)
      return std::nullopt;
    const auto i = static_cast<size_t>(lowest - joined.begin());
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    joined.erase(lowest + 1);
    joined[i] = rankOf(i);
    if (i > 0)
      joined[i - 1] = rankOf(i - 1);
  }
  const auto left = ranks.find(token.substr(0, cuts[1]));
  const auto right = ranks.find(token.substr(cuts[1]));
  if (left == ranks.end() || right == ranks.end())
    return std::nullopt;
  return std::pair(left->second, right->second);
}

} // namespace

Error damagedRanks(const std::string &what, const std::string &where) {
  return Error{"INGOT-E1420", what, where, "copy the file again"};
}

Outcome addByteRanks(const std::vector<std::string> &tokens, const std::string &fileName,
                     TokenizerSpec &spec) {
  const auto first = static_cast<uint32_t>(spec.pieces.size());
  Ranks ranks;
  for (uint32_t rank = 0; rank < tokens.size(); ++rank)
    if (!tokens[rank].empty() && !ranks.emplace(tokens[rank], rank).second)
      return damagedRanks(message("the token of rank ", rank, " comes twice"), fileName);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    if (!ranks.contains({&character, 1}))
      return damagedRanks(message("no rank for the byte ", byte), fileName);
  }
  const std::array<std::string, 256> alphabet = makeByteAlphabet();
  for (uint32_t rank = 0; rank < tokens.size(); ++rank) {
    TokenizerPiece piece;
    for (char c : tokens[rank])
      piece.text += alphabet[static_cast<unsigned char>(c)];
    piece.model = !piece.text.empty();
    spec.pieces.push_back(std::move(piece));
    if (tokens[rank].size() < 2)
      continue;
    if (const auto halves = halvesOf(tokens[rank], rank, ranks))
      spec.merges.push_back({first + halves->first, first + halves->second, first + rank});
  }
  if (spec.merges.empty())
    return Error{"INGOT-E1406", "no two tokens merge: every text would fall into single bytes",
                 fileName, "copy the file again"};
  return {};
}

void cutIntoRanks(std::string pattern, TokenizerSpec &spec) {
  spec.preTokenizer.push_back(
      {.kind = TokenizerPreTokenizerStep::Split, .pattern = std::move(pattern)});
  spec.preTokenizer.push_back({.kind = TokenizerPreTokenizerStep::ByteLevel});
  spec.decoder.push_back({.kind = TokenizerDecoderStep::ByteLevel});
  spec.ignoreMerges = true; // a word that is a token is taken whole
}

} // namespace ingot::checkpoint
