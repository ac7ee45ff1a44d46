// SPDX-License-Identifier: Apache-2.0
// Ranks and special tokens of tekken.json.
#include "compiler/checkpoint/tokenizer/TekkenReader.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/tokenizer/Base64.h"
#include "compiler/checkpoint/tokenizer/ByteRanks.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <array>

namespace ingot::checkpoint {

namespace {

/// Of files up to version 7, which do not list them.
constexpr std::array<std::string_view, 20> olderTokens = {"<unk>",
                                                          "<s>",
                                                          "</s>",
                                                          "[INST]",
                                                          "[/INST]",
                                                          "[AVAILABLE_TOOLS]",
                                                          "[/AVAILABLE_TOOLS]",
                                                          "[TOOL_RESULTS]",
                                                          "[/TOOL_RESULTS]",
                                                          "[TOOL_CALLS]",
                                                          "[IMG]",
                                                          "<pad>",
                                                          "[IMG_BREAK]",
                                                          "[IMG_END]",
                                                          "[PREFIX]",
                                                          "[MIDDLE]",
                                                          "[SUFFIX]",
                                                          "[SYSTEM_PROMPT]",
                                                          "[/SYSTEM_PROMPT]",
                                                          "[TOOL_CONTENT]"};

struct Config {
  std::string pattern, version;
  uint64_t size = 0, specials = 0; ///< of the vocabulary, and of these special
};

Expected<Config> readConfig(const Json &root) {
  auto member = root.at("config");
  if (!member)
    return member.error();
  JsonFields fields(*member);
  Config config;
  config.pattern = fields.stringOr("pattern", "");
  config.version = fields.stringOr("version", "");
  config.size = fields.unsignedInteger("default_vocab_size", 1, maxTokenId);
  config.specials = fields.unsignedInteger("default_num_special_tokens", 1, maxTokenId);
  if (config.pattern.empty())
    fields.fail("pattern", "INGOT-E1423", "it does not say how words are cut",
                "use the file as Mistral publishes it");
  if (config.specials >= config.size)
    fields.fail("default_num_special_tokens", "INGOT-E1423",
                message(config.specials, " of ", config.size, " tokens are special"),
                "use the file as Mistral publishes it");
  return fields.error() ? Expected<Config>(*fields.error()) : config;
}

/// The bytes of the first `count` ranks.
Expected<std::vector<std::string>> readRanks(const Json &root, uint64_t count) {
  auto list = root.at("vocab");
  if (!list)
    return list.error();
  if (!list->isArray() || list->size() < count)
    return list->error("INGOT-E1423", message("this is no list of at least ", count, " tokens"),
                       "copy the file again");
  std::vector<std::string> tokens;
  for (size_t i = 0; i < count; ++i) {
    const Json entry = list->element(i);
    JsonFields fields(entry);
    const uint64_t rank = fields.unsignedInteger("rank", 0, maxTokenId);
    const auto bytes = decodeBase64(fields.stringOr("token_bytes", ""));
    if (fields.error())
      return *fields.error();
    if (rank != i || !bytes || bytes->empty() || bytes->size() > maxRankBytes)
      return entry.error("INGOT-E1420",
                         message("this is no token of rank ", i, " in base64, of at most ",
                                 maxRankBytes, " bytes"),
                         "copy the file again");
    tokens.push_back(*bytes);
  }
  return tokens;
}

/// The special tokens by id; those without a text are called by their number.
Expected<std::vector<std::string>> readSpecials(const Json &root, const Config &config) {
  std::vector<std::string> texts;
  for (uint64_t id = 0; id < config.specials; ++id)
    texts.push_back(message("<SPECIAL_", id, ">"));
  const auto list = root.find("special_tokens");
  if (!list || list->isNull()) {
    for (size_t id = 0; id < std::min(olderTokens.size(), texts.size()); ++id)
      texts[id] = olderTokens[id];
    return texts;
  }
  if (!list->isArray())
    return list->wrongType("a list of special tokens");
  for (size_t i = 0; i < list->size(); ++i) {
    const Json entry = list->element(i);
    JsonFields fields(entry);
    const uint64_t rank = fields.unsignedInteger("rank", 0, config.specials - 1);
    const std::string text = fields.stringOr("token_str", "");
    if (fields.error())
      return *fields.error();
    texts[rank] = text;
  }
  return texts;
}

Outcome addSpecials(const std::vector<std::string> &texts, const std::string &fileName,
                    TokenizerSpec &spec) {
  TokenizerVocabulary vocabulary(spec);
  for (uint32_t id = 0; id < texts.size(); ++id) {
    TokenizerAddedToken token;
    token.id = id;
    token.content = texts[id];
    token.special = true;
    if (Outcome done = vocabulary.addToken(token, fileName); !done)
      return done;
    for (auto [text, known] : {std::pair("<unk>", &spec.unkId), std::pair("<s>", &spec.bosId),
                               std::pair("</s>", &spec.eosId), std::pair("<pad>", &spec.padId)})
      if (texts[id] == text)
        *known = static_cast<int32_t>(id);
  }
  return {};
}

} // namespace

Expected<TokenizerSpec> parseTekken(std::string_view bytes, const std::string &fileName) {
  auto root = Json::parse(bytes, fileName);
  if (!root)
    return root.error();
  auto config = readConfig(*root);
  if (!config)
    return config.error();
  auto tokens = readRanks(*root, config->size - config->specials);
  if (!tokens)
    return tokens.error();
  auto specials = readSpecials(*root, *config);
  if (!specials)
    return specials.error();
  TokenizerSpec spec;
  spec.pieces.resize(specials->size());
  if (Outcome done = addByteRanks(*tokens, fileName, spec); !done)
    return done.error();
  if (Outcome done = addSpecials(*specials, fileName, spec); !done)
    return done.error();
  Expected<std::string> regex = translateRegex(config->pattern, fileName);
  if (!regex)
    return regex.error();
  cutIntoRanks(*std::move(regex), spec);
  if (spec.bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(spec.bosId));
  return spec;
}

} // namespace ingot::checkpoint
