// SPDX-License-Identifier: Apache-2.0
// Reads tiktoken files (`*.tiktoken`, and the `tokenizer.model` of Llama 3): lines of a token's
// bytes in base64 and its rank, which is its id.
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"

#include "compiler/checkpoint/tokenizer/Base64.h"
#include "compiler/checkpoint/tokenizer/ByteRanks.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ingot::checkpoint {

namespace {

struct SpecialToken {
  uint32_t id;
  std::string text;
};

/// A model family with a tiktoken vocabulary of its own.
struct Family {
  std::string_view name;
  size_t ranks;
  std::string words;                ///< how they are cut
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

std::vector<SpecialToken> furtherKimiTokens() {
  std::vector<SpecialToken> tokens;
  for (uint32_t id = 163586; id < 163840; ++id)
    tokens.push_back({id, message("<|reserved_token_", id, "|>")});
  return tokens;
}

const std::array<Family, 3> &families() {
  static const std::array<Family, 3> known = {
      {{"Llama 3",
        128000,
        wordRegex(R"(\p{N}{1,3})"),
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
        wordRegex(R"(\p{N})"),
        true,
        {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}},
        &furtherQwenTokens,
        -1},
       // tokenizer_config.json names the others.
       {"Kimi K2",
        163584,
        kimiWordRegex(),
        false,
        {{163585, "[EOS]"}, {163584, "[BOS]"}},
        &furtherKimiTokens,
        -1}}};
  return known;
}

/// One line, "base64 rank". Nothing if it is not of that form.
std::optional<std::pair<std::string, uint32_t>> parseLine(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || space > maxRankBytes * 2)
    return std::nullopt;
  std::optional<std::string> token = decodeBase64(line.substr(0, space));
  uint32_t rank = 0;
  const char *end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + space + 1, end, rank);
  if (!token || token->empty() || token->size() > maxRankBytes || error != std::errc() ||
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
      return damagedRanks(message("line ", number, " is not a token in base64, of at most ",
                                  maxRankBytes, " bytes, and its rank"),
                          fileName);
    auto &[token, rank] = *parsed;
    if (tokens.size() <= rank)
      tokens.resize(size_t{rank} + 1);
    if (!tokens[rank].empty())
      return damagedRanks(message("rank ", rank, " comes twice, again in line ", number), fileName);
    tokens[rank] = std::move(token);
  }
  return tokens;
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

Error unknownFamily(size_t ranks, const std::string &fileName) {
  std::string known;
  for (const Family &family : families())
    known += message(known.empty() ? "" : ", ", family.name, " (", family.ranks, ")");
  return Error{"INGOT-E1421",
               message("a tiktoken file of ", ranks, " ranks is of none of ", known,
                       ", so how words are cut and which special tokens there are is unknown"),
               fileName, "put a tokenizer.json beside it, which says both"};
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
  if (Outcome done = addByteRanks(*tokens, fileName, spec); !done)
    return done.error();
  const auto family = std::find_if(families().begin(), families().end(), [&](const Family &known) {
    return known.ranks == tokens->size();
  });
  if (family == families().end())
    return unknownFamily(tokens->size(), fileName);
  if (Outcome done = addSpecialTokens(family->tokens, fileName, spec); !done)
    return done.error();
  if (allTokens)
    if (Outcome done = addSpecialTokens(family->furtherTokens(), fileName, spec); !done)
      return done.error();

  Expected<std::string> regex = translateRegex(family->words, fileName);
  if (!regex)
    return regex.error();
  if (family->nfc)
    spec.normalizer.push_back({.kind = TokenizerNormalizerStep::Nfc});
  cutIntoRanks(*std::move(regex), spec);
  spec.eosId = static_cast<int32_t>(family->tokens[0].id);
  spec.bosId = family->bosId;
  if (family->bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(family->bosId));
  return spec;
}

} // namespace ingot::checkpoint
