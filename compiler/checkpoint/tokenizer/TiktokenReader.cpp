// SPDX-License-Identifier: Apache-2.0
// Reads tiktoken files (`*.tiktoken`, and the `tokenizer.model` of Llama 3): lines of a token's
// bytes in base64 and its rank, which is its id.
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"

#include "compiler/checkpoint/tokenizer/Base64.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

namespace ingot::checkpoint {

namespace {

/// Tokens are at most this long; finding the two halves of one takes the square of it.
constexpr size_t maxTokenBytes = 256;

using Ranks = std::unordered_map<std::string_view, uint32_t>;

struct SpecialToken {
  uint32_t id;
  std::string text;
};

/// A model family with a tiktoken vocabulary of its own.
struct Family {
  std::string_view name;
  size_t ranks;
  std::string_view digits;          ///< the part of wordRegex for digits
  bool nfc;                         ///< normalizes to NFC first
  std::vector<SpecialToken> tokens; ///< of all its members; the first is the end of a text
  std::vector<SpecialToken> (*furtherTokens)();
  int32_t bosId; ///< put before a text, or -1
};

/// Llama 3.1 and later; Llama 3 calls some of these "reserved", and never makes them.
std::vector<SpecialToken> furtherLlamaTokens() {
  std::vector<SpecialToken> tokens = {
      {128004, "<|finetune_right_pad_id|>"}, {128008, "<|eom_id|>"}, {128010, "<|python_tag|>"}};
  uint32_t reserved = 0;
  for (uint32_t id : {128002u, 128003u, 128005u})
    tokens.push_back({id, message("<|reserved_special_token_", reserved++, "|>")});
  for (uint32_t id = 128011; id < 128256; ++id)
    tokens.push_back({id, message("<|reserved_special_token_", reserved++, "|>")});
  return tokens;
}

std::vector<SpecialToken> furtherQwenTokens() {
  std::vector<SpecialToken> tokens;
  for (uint32_t i = 0; i < 205; ++i)
    tokens.push_back({151646 + i, message("<|extra_", i, "|>")});
  return tokens;
}

const std::array<Family, 2> &families() {
  static const std::array<Family, 2> known = {
      {{"Llama 3",
        128000,
        R"(\p{N}{1,3})",
        false,
        {{128001, "<|end_of_text|>"},
         {128000, "<|begin_of_text|>"},
         {128006, "<|start_header_id|>"},
         {128007, "<|end_header_id|>"},
         {128009, "<|eot_id|>"}},
        &furtherLlamaTokens,
        128000},
       {"Qwen",
        151643,
        R"(\p{N})",
        true,
        {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}},
        &furtherQwenTokens,
        -1}}};
  return known;
}

Error damaged(const std::string &what, const std::string &where) {
  return Error{"INGOT-E1420", what, where, "copy the file again"};
}

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

/// One line, "base64 rank". Nothing if it is not of that form.
std::optional<std::pair<std::string, uint32_t>> parseLine(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || space > maxTokenBytes * 2)
    return std::nullopt;
  std::optional<std::string> token = decodeBase64(line.substr(0, space));
  uint32_t rank = 0;
  const char *end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + space + 1, end, rank);
  if (!token || token->empty() || token->size() > maxTokenBytes || error != std::errc() ||
      stop != end || rank >= maxTokenId)
    return std::nullopt;
  return std::pair(*std::move(token), rank);
}

/// The bytes of every token, by rank; empty where a rank is not used.
Expected<std::vector<std::string>> parseLines(std::string_view bytes, const std::string &fileName) {
  std::vector<std::string> tokens;
  size_t number = 0;
  while (!bytes.empty()) {
    ++number;
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.empty())
      continue;
    auto parsed = parseLine(line);
    if (!parsed)
      return damaged(message("line ", number, " is not a token in base64, of at most ",
                             maxTokenBytes, " bytes, and its rank"),
                     fileName);
    auto &[token, rank] = *parsed;
    if (tokens.size() <= rank)
      tokens.resize(size_t{rank} + 1);
    if (!tokens[rank].empty())
      return damaged(message("rank ", rank, " comes twice, again in line ", number), fileName);
    tokens[rank] = std::move(token);
  }
  return tokens;
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

/// Pieces spelled in the byte alphabet, and the merges in order of rank.
Outcome addTokens(const std::vector<std::string> &tokens, const std::string &fileName,
                  TokenizerSpec &spec) {
  Ranks ranks;
  for (uint32_t rank = 0; rank < tokens.size(); ++rank)
    if (!tokens[rank].empty() && !ranks.emplace(tokens[rank], rank).second)
      return damaged(message("the token of rank ", rank, " comes twice"), fileName);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    if (!ranks.contains({&character, 1}))
      return damaged(message("no rank for the byte ", byte), fileName);
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
      spec.merges.push_back({halves->first, halves->second, rank});
  }
  if (spec.merges.empty())
    return Error{"INGOT-E1406", "no two tokens merge: every text would fall into single bytes",
                 fileName, "copy the file again"};
  return {};
}

Outcome addSpecialTokens(const std::vector<SpecialToken> &tokens, const std::string &where,
                         TokenizerSpec &spec) {
  TokenizerVocabulary vocabulary(spec);
  for (const SpecialToken &from : tokens) {
    TokenizerAddedToken token;
    token.id = from.id;
    token.content = from.text;
    token.special = true;
    if (Outcome done = vocabulary.addToken(token, where); !done)
      return done;
  }
  return {};
}

} // namespace

bool isTiktoken(std::string_view bytes) {
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return parseLine(line).has_value();
}

Expected<TokenizerSpec> parseTiktoken(std::string_view bytes, const std::string &fileName,
                                      bool allTokens) {
  Expected<std::vector<std::string>> tokens = parseLines(bytes, fileName);
  if (!tokens)
    return tokens.error();
  TokenizerSpec spec;
  if (Outcome done = addTokens(*tokens, fileName, spec); !done)
    return done.error();
  const auto family = std::find_if(families().begin(), families().end(), [&](const Family &known) {
    return known.ranks == tokens->size();
  });
  if (family == families().end())
    return Error{"INGOT-E1421",
                 message("a tiktoken file of ", tokens->size(), " ranks is neither that of ",
                         families()[0].name, " (", families()[0].ranks, ") nor of ",
                         families()[1].name, " (", families()[1].ranks,
                         "), so how words are cut and which special tokens there are is unknown"),
                 fileName, "put a tokenizer.json beside it, which says both"};
  if (Outcome done = addSpecialTokens(family->tokens, fileName, spec); !done)
    return done.error();
  if (allTokens)
    if (Outcome done = addSpecialTokens(family->furtherTokens(), fileName, spec); !done)
      return done.error();

  Expected<std::string> regex = translateRegex(wordRegex(family->digits), fileName);
  if (!regex)
    return regex.error();
  if (family->nfc)
    spec.normalizer.push_back({.kind = TokenizerNormalizerStep::Nfc});
  spec.preTokenizer.push_back(
      {.kind = TokenizerPreTokenizerStep::Split, .pattern = *std::move(regex)});
  spec.preTokenizer.push_back({.kind = TokenizerPreTokenizerStep::ByteLevel});
  spec.decoder.push_back({.kind = TokenizerDecoderStep::ByteLevel});
  spec.ignoreMerges = true; // tiktoken takes a word that is a token whole
  spec.eosId = static_cast<int32_t>(family->tokens[0].id);
  spec.bosId = family->bosId;
  if (family->bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(family->bosId));
  return spec;
}

} // namespace ingot::checkpoint
