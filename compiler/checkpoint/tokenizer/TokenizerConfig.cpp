// SPDX-License-Identifier: Apache-2.0
// Reads tokenizer_config.json and special_tokens_map.json: special ids and the ids around a text,
// added tokens, chat templates.
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <algorithm>
#include <charconv>

namespace ingot::checkpoint {

namespace {

/// The text of a token that is null, "text" or {"content": "text"}; empty for null and absent.
Expected<std::string> tokenText(const Json &root, std::string_view key) {
  const std::optional<Json> token = root.find(key);
  if (!token || token->isNull())
    return std::string();
  if (!token->isObject())
    return token->string();
  Expected<Json> content = token->at("content");
  if (!content)
    return content.error();
  return content->string();
}

/// Sets bos, eos and pad ids from `root` where it names them. Padding is never needed, so a
/// padding token that does not exist leaves no id instead of an error.
Outcome setSpecialIds(const TokenizerVocabulary &vocabulary, const Json &root, bool overwrite,
                      TokenizerSpec &spec) {
  constexpr std::pair<std::string_view, int32_t TokenizerSpec::*> tokens[] = {
      {"bos_token", &TokenizerSpec::bosId},
      {"eos_token", &TokenizerSpec::eosId},
      {"pad_token", &TokenizerSpec::padId}};
  for (const auto &[key, member] : tokens) {
    Expected<std::string> text = tokenText(root, key);
    if (!text)
      return text.error();
    if (text->empty() || (!overwrite && spec.*member >= 0))
      continue;
    const std::optional<uint32_t> id = vocabulary.find(*text);
    if (id)
      spec.*member = static_cast<int32_t>(*id);
    else if (key != "pad_token")
      return root.error("INGOT-E1414",
                        message(key, " ", inQuotes(*text), " is not in the vocabulary"),
                        "add the token to tokenizer.json or correct its name");
  }
  return {};
}

Outcome addConfiguredTokens(const Json &root, TokenizerVocabulary &vocabulary) {
  const std::optional<Json> tokens = root.find("added_tokens_decoder");
  if (!tokens || tokens->isNull())
    return {};
  if (!tokens->isObject())
    return tokens->wrongType("an object");
  for (const std::string &key : tokens->keys()) {
    const Json token = *tokens->find(key);
    TokenizerAddedToken added;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), added.id);
    if (error != std::errc() || end != key.data() + key.size())
      return token.error("INGOT-E1404", message(inQuotes(key), " is no token id"),
                         "correct the id");
    JsonFields fields(token);
    readAddedToken(fields, added);
    if (fields.error())
      return *fields.error();
    if (Outcome done = vocabulary.addToken(added, token.where()); !done)
      return done;
  }
  return {};
}

/// Takes add_bos_token or add_eos_token, `key`: makes `ids` contain `id` at its outer end, or not
/// at all. The post-processor of a tokenizer.json stands, as transformers has it since 5.0.
void setAffix(JsonFields &fields, std::string_view key, int32_t id, bool atFront,
              std::vector<uint32_t> &ids, TokenizerSpec &spec) {
  if (!fields.has(key) || id < 0)
    return;
  const bool wanted = fields.booleanOr(key, false);
  const auto value = static_cast<uint32_t>(id);
  const bool there = std::find(ids.begin(), ids.end(), value) != ids.end();
  if (wanted == there)
    return;
  if (spec.affixesStand)
    spec.deviations.push_back({message("tokenizer_config.json ", key), wanted ? "true" : "false",
                               "not read",
                               message("the post-processor of tokenizer.json, which counts, adds ",
                                       there ? "the token" : "none"),
                               /*isTold=*/true});
  else if (wanted)
    ids.insert(atFront ? ids.begin() : ids.end(), value);
  else
    std::erase(ids, value);
}

Outcome readChatTemplates(const Json &root, TokenizerSpec &spec) {
  const std::optional<Json> chat = root.find("chat_template");
  if (!chat || chat->isNull())
    return {};
  auto add = [&](std::string name, const Json &text) -> Outcome {
    Expected<std::string> value = text.string();
    if (!value)
      return value.error();
    spec.chatTemplates.push_back({std::move(name), *std::move(value)});
    return {};
  };
  if (!chat->isArray())
    return add("default", *chat);
  for (size_t i = 0; i < chat->size(); ++i) {
    Expected<Json> name = chat->element(i).at("name");
    if (!name)
      return name.error();
    Expected<std::string> nameText = name->string();
    if (!nameText)
      return nameText.error();
    Expected<Json> text = chat->element(i).at("template");
    if (!text)
      return text.error();
    if (Outcome done = add(*nameText, *text); !done)
      return done;
  }
  return {};
}

} // namespace

Outcome applyTokenizerConfig(TokenizerSpec &spec, const Json &config) {
  if (!config.isObject())
    return config.wrongType("an object");
  TokenizerVocabulary vocabulary(spec);
  if (Outcome done = addConfiguredTokens(config, vocabulary); !done)
    return done;
  if (Outcome done = setSpecialIds(vocabulary, config, /*overwrite=*/true, spec); !done)
    return done;
  JsonFields fields(config);
  spec.cleanUpSpaces = fields.booleanOr("clean_up_tokenization_spaces", false);
  setAffix(fields, "add_bos_token", spec.bosId, true, spec.prefixIds, spec);
  setAffix(fields, "add_eos_token", spec.eosId, false, spec.suffixIds, spec);
  // A sentencepiece model adds a space behind every special token unless `legacy` is false.
  // tokenizer.json says for itself what it does.
  const bool isSentencePiece = !spec.scores.empty();
  if (isSentencePiece && !fields.booleanOr("legacy", true))
    for (TokenizerNormalizerStep &step : spec.normalizer)
      step.atStart = step.kind == TokenizerNormalizerStep::Prepend;
  if (fields.error())
    return *fields.error();
  return readChatTemplates(config, spec);
}

Outcome applyProcessorTemplate(TokenizerSpec &spec, const Json &file) {
  if (!file.isObject())
    return file.wrongType("an object");
  TokenizerSpec own;
  if (Outcome done = readChatTemplates(file, own); !done)
    return done;
  for (TokenizerChatTemplate &chat : own.chatTemplates) {
    const auto known =
        std::ranges::find(spec.chatTemplates, chat.name, &TokenizerChatTemplate::name);
    if (known == spec.chatTemplates.end())
      spec.chatTemplates.push_back(std::move(chat));
    else if (known->text != chat.text)
      spec.deviations.push_back({"chat_template.json", "a template " + inQuotes(chat.name),
                                 "not read", "the tokenizer has another one, which counts",
                                 /*isTold=*/true});
  }
  return {};
}

Outcome applySpecialTokensMap(TokenizerSpec &spec, const Json &map) {
  if (!map.isObject())
    return map.wrongType("an object");
  return setSpecialIds(TokenizerVocabulary(spec), map, /*overwrite=*/false, spec);
}

} // namespace ingot::checkpoint
