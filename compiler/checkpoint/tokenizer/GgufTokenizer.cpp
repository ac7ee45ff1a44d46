// SPDX-License-Identifier: Apache-2.0
// Reads the tokenizer in a GGUF file's metadata. Keys: `gguf-py/gguf/constants.py` of llama.cpp.
#include "compiler/checkpoint/gguf/GgufConfig.h"
#include "compiler/checkpoint/tokenizer/SentencePieces.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"
#include "compiler/checkpoint/tokenizer/TokenizerSteps.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxTemplateBytes = size_t{1} << 20;

std::string tokenizerKey(std::string_view name) { return message("tokenizer.ggml.", name); }

//===- Rules that cut a text into words -----------------------------------------------------===//

nlohmann::json byteLevel(bool useRegex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", useRegex}};
}

/// Cuts by each expression in turn what those before it left, then into bytes or GPT-2's words.
nlohmann::json cutBy(std::initializer_list<std::string> regexes, bool gpt2Behind = false) {
  nlohmann::json steps = nlohmann::json::array();
  for (const std::string &regex : regexes)
    steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}});
  steps.push_back(byteLevel(gpt2Behind));
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

nlohmann::json gpt2Words() { return byteLevel(true); }

nlohmann::json llama3Words() { return cutBy({wordRegex(R"(\p{N}{1,3})")}); }

nlohmann::json qwen2Words() { return cutBy({wordRegex(R"(\p{N})")}); }

/// Words end where small letters do. `behind`: of a word; `digits`: of a number.
nlohmann::json wordsByCase(std::string_view behind, std::string_view digits) {
  constexpr std::string_view large = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])",
                             small = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])",
                             before = R"([^\r\n\p{L}\p{N}]?)";
  return cutBy(
      {message(before, large, "*", small, "+", behind, "|", before, large, "+", small, "*", behind,
               "|", digits, R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)", R"(\s+(?!\S)|\s+)")});
}

nlohmann::json gpt4oWords() {
  return wordsByCase(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)", R"(\p{N}{1,3})");
}

nlohmann::json tekkenWords() { return wordsByCase("", R"(\p{N})"); }

nlohmann::json kimiWords() { return cutBy({kimiWordRegex()}); }

nlohmann::json digitsThenGpt2Words() { return cutBy({R"(\p{N})"}, /*gpt2Behind=*/true); }

/// Letters with an upper and a lower case, as DeepSeek's first models list them.
constexpr std::string_view casedLetters =
    R"(A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386})"
    R"(\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f})"
    R"(\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba})"
    R"(\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a})"
    R"(\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d})"
    R"(\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4})"
    R"(\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3})"
    R"(\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107})"
    R"(\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d})"
    R"(\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184})"
    R"(\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
    R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e})"
    R"(\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a})"
    R"(\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb})"
    R"(\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943})";
constexpr std::string_view eastAsian = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";

nlohmann::json deepSeekLlmWords() {
  return cutBy(
      {R"([\r\n])", message(R"(\s?[)", casedLetters, "]+"),
       R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
       R"(\s+$)", std::string(eastAsian), R"(\p{N})"});
}

nlohmann::json deepSeekCoderWords() {
  return cutBy({R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", std::string(eastAsian), R"(\p{N})"});
}

nlohmann::json deepSeekV3Words() {
  return cutBy({R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
                message(R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)re",
                        R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)",
                        R"(\s*[\r\n]+|\s+(?!\S)|\s+)")});
}

/// What a value of tokenizer.ggml.pre stands for: the steps as tokenizer.json writes them.
struct WordRule {
  std::string_view name;
  nlohmann::json (*steps)();
  bool composes;     ///< NFC comes first
  bool ignoreMerges; ///< a whole word that is a piece is not cut
  bool addBos;       ///< unless the file says otherwise
};

/// Source: `src/llama-vocab.cpp` of llama.cpp, and where it quotes them the expressions of the
/// models' own tokenizer.json. It composes nothing; the rules that do are those of models that do.
constexpr WordRule wordRules[] = {
    {"gpt-2", gpt2Words, false, false, false},
    {"phi-2", gpt2Words, false, false, false},
    {"olmo", gpt2Words, false, false, false},
    {"mpt", gpt2Words, false, false, false},
    {"jais", gpt2Words, false, false, false},
    {"mellum", gpt2Words, false, false, false},
    {"a.x-4.0", gpt2Words, false, false, false},
    {"exaone4", gpt2Words, false, false, false},
    {"gigachat", gpt2Words, false, false, false},
    {"trillion", gpt2Words, false, false, false},
    {"granite-docling", gpt2Words, false, false, false},
    {"llama-bpe", llama3Words, false, true, true},
    {"llama3", llama3Words, false, true, true},
    {"llama-v3", llama3Words, false, true, true},
    {"falcon3", llama3Words, false, true, true},
    {"falcon-h1", llama3Words, false, true, true},
    {"pixtral", llama3Words, false, true, true},
    {"midm-2.0", llama3Words, false, true, true},
    {"lfm2", llama3Words, false, true, true},
    {"dbrx", llama3Words, false, false, false},
    {"smaug-bpe", llama3Words, false, false, false},
    {"gpt-4o", gpt4oWords, false, false, false},
    {"llama4", gpt4oWords, false, false, false},
    {"kanana2", gpt4oWords, false, false, false},
    {"tekken", tekkenWords, false, true, true},
    {"kimi-k2", kimiWords, false, true, false},
    {"qwen2", qwen2Words, true, false, false},
    {"deepseek-r1-qwen", qwen2Words, true, false, false},
    {"kormo", qwen2Words, false, false, false},
    {"megrez", qwen2Words, false, false, false},
    {"stablelm2", qwen2Words, false, false, false},
    {"deepseek-llm", deepSeekLlmWords, false, false, false},
    {"deepseek-coder", deepSeekCoderWords, false, false, false},
    {"deepseek-v3", deepSeekV3Words, false, false, false},
    {"smollm", digitsThenGpt2Words, false, false, false},
    {"starcoder", digitsThenGpt2Words, false, false, false},
    {"refact", digitsThenGpt2Words, false, false, false},
    {"command-r", digitsThenGpt2Words, false, false, false},
    {"codeshell", digitsThenGpt2Words, false, false, false},
    {"exaone", digitsThenGpt2Words, false, false, false},
    {"minerva-7b", digitsThenGpt2Words, false, false, false},
};

Expected<const WordRule *> findWordRule(const Json &metadata) {
  JsonFields fields(metadata);
  const std::string name = fields.stringOr(tokenizerKey("pre"), "");
  if (fields.error())
    return *fields.error();
  std::string known;
  for (const WordRule &rule : wordRules) {
    if (rule.name == name)
      return &rule;
    known += message(known.empty() ? "" : ", ", rule.name);
  }
  return metadata.error("INGOT-E1116",
                        name.empty()
                            ? "the file does not say how a text is cut into words"
                            : message("tokenizer.ggml.pre ", inQuotes(name), " is not supported"),
                        "give a model whose tokenizer.ggml.pre is one of: " + known);
}

//===- Vocabulary ---------------------------------------------------------------------------===//

/// The list under `name`; it must have one entry for each of `count` tokens.
Expected<Json> listOf(const Json &metadata, std::string_view name, size_t count) {
  auto list = metadata.at(tokenizerKey(name));
  if (!list)
    return list.error();
  if (!list->isArray())
    return list->wrongType("a list");
  if (list->size() != count)
    return list->error("INGOT-E1117",
                       message("a list of ", list->size(), " for ", count, " tokens"),
                       "convert the model again");
  return list;
}

/// Text, score and type of every token; without `scored`, scores are 0.
Expected<std::vector<ScoredPiece>> readTokens(const Json &metadata, bool scored) {
  auto tokens = metadata.at(tokenizerKey("tokens"));
  if (!tokens)
    return tokens.error();
  if (!tokens->isArray())
    return tokens->wrongType("a list");
  const size_t count = tokens->size();
  std::vector<ScoredPiece> pieces(count);
  for (size_t id = 0; id < count; ++id) {
    const auto *text = tokens->raw()[id].get_ptr<const std::string *>();
    if (!text)
      return tokens->element(id).wrongType("a string");
    pieces[id].text = *text;
  }
  if (scored) {
    auto scores = listOf(metadata, "scores", count);
    if (!scores)
      return scores.error();
    for (size_t id = 0; id < count; ++id) {
      if (!scores->raw()[id].is_number())
        return scores->element(id).wrongType("a number");
      pieces[id].score = scores->raw()[id].get<float>();
    }
  }
  if (!metadata.find(tokenizerKey("token_type")))
    return pieces;
  auto types = listOf(metadata, "token_type", count);
  if (!types)
    return types.error();
  for (size_t id = 0; id < count; ++id) {
    auto type = types->element(id).unsignedInteger(Normal, Byte);
    if (!type)
      return type.error();
    pieces[id].type = static_cast<int>(*type);
  }
  return pieces;
}

/// A vocabulary of sentencepiece: merges follow from scores.
Outcome readScored(const Json &metadata, TokenizerSpec &spec) {
  JsonFields fields(metadata);
  SentencePieceSettings settings;
  settings.addPrefix = fields.booleanOr(tokenizerKey("add_space_prefix"), true);
  settings.removeExtraSpaces = fields.booleanOr(tokenizerKey("remove_extra_whitespaces"), false);
  if (fields.has(tokenizerKey("precompiled_charsmap")))
    fields.fail(tokenizerKey("precompiled_charsmap"), "INGOT-E1409",
                "a normalizer with a character map is not supported",
                "use a model whose tokenizer does without it");
  if (fields.error())
    return *fields.error();
  auto pieces = readTokens(metadata, /*scored=*/true);
  if (!pieces)
    return pieces.error();
  // These files spell such pieces with the spaces that a text has; they are looked for in the text
  // as it is normalized.
  for (ScoredPiece &piece : *pieces)
    if (piece.type == UserDefined)
      for (size_t at = 0; (at = piece.text.find(' ', at)) != std::string::npos;)
        piece.text.replace(at, 1, "\u2581");
  if (Outcome added = addScoredPieces(*pieces, PieceModel::Bpe, metadata.where(), spec); !added)
    return added;
  addSentencePieceSteps(settings, spec);
  spec.byteFallback = true;
  spec.fuseUnk = true;
  return {};
}

/// A vocabulary of byte-level BPE. Pieces are spelled in the characters that stand for bytes, added
/// tokens as they are; an unused entry only fills its place.
Outcome readByteLevel(const Json &metadata, const WordRule &rule, TokenizerSpec &spec) {
  auto tokens = readTokens(metadata, /*scored=*/false);
  if (!tokens)
    return tokens.error();
  const std::string where = metadata.where() + ": " + tokenizerKey("tokens");
  TokenizerVocabulary vocabulary(spec);
  for (size_t id = 0; id < tokens->size(); ++id) {
    const ScoredPiece &token = (*tokens)[id];
    if (token.type == Unused)
      continue;
    Outcome added;
    if (token.type == Normal || token.type == Byte) {
      if (token.text.size() > maxPieceBytes || !isUtf8(token.text))
        return Error{
            "INGOT-E1405",
            message("token ", id, " is longer than ", maxPieceBytes, " bytes or not UTF-8"), where,
            "correct the token"};
      added = vocabulary.addPiece(id, token.text, where);
    } else {
      TokenizerAddedToken special;
      special.id = static_cast<uint32_t>(std::min<size_t>(id, maxTokenId));
      special.content = token.text;
      special.special = token.type != UserDefined;
      added = vocabulary.addToken(special, where);
    }
    if (!added)
      return added;
  }
  auto merges = metadata.at(tokenizerKey("merges"));
  if (!merges)
    return merges.error();
  if (Outcome read = readMerges(*merges, vocabulary, spec); !read)
    return read;
  if (rule.composes)
    spec.normalizer.push_back({.kind = TokenizerNormalizerStep::Nfc});
  spec.ignoreMerges = rule.ignoreMerges;
  spec.decoder.push_back({.kind = TokenizerDecoderStep::ByteLevel});
  return readPreTokenizer(Json::of(rule.steps(), metadata.where()), spec);
}

//===- Special tokens and templates ---------------------------------------------------------===//

Outcome readSpecialIds(const Json &metadata, bool addBos, TokenizerSpec &spec) {
  constexpr std::pair<std::string_view, int32_t TokenizerSpec::*> ids[] = {
      {"bos_token_id", &TokenizerSpec::bosId},
      {"eos_token_id", &TokenizerSpec::eosId},
      {"unknown_token_id", &TokenizerSpec::unkId},
      {"padding_token_id", &TokenizerSpec::padId}};
  const auto tokens = metadata.at(tokenizerKey("tokens"));
  if (!tokens)
    return tokens.error();
  for (const auto &[name, member] : ids) {
    auto id = readGgufTokenId(metadata, tokenizerKey(name), tokens->size());
    if (!id)
      return id.error();
    if (!*id)
      continue;
    if (**id < spec.pieces.size() && !spec.pieces[**id].text.empty())
      spec.*member = static_cast<int32_t>(**id);
    else if (member != &TokenizerSpec::padId) // Padding needs a number alone.
      return tokens->element(**id).error(
          "INGOT-E1404",
          message(tokenizerKey(name), " is ", **id, ", a token that is unused or has no text"),
          "name a token that has a text, or convert the model again");
  }
  JsonFields fields(metadata);
  if (fields.booleanOr(tokenizerKey("add_bos_token"), addBos) && spec.bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(spec.bosId));
  if (fields.booleanOr(tokenizerKey("add_eos_token"), false) && spec.eosId >= 0)
    spec.suffixIds.push_back(static_cast<uint32_t>(spec.eosId));
  if (fields.error())
    return *fields.error();
  return {};
}

Outcome readTemplates(const Json &metadata, TokenizerSpec &spec) {
  constexpr std::string_view prefix = "tokenizer.chat_template";
  for (const std::string &key : metadata.keys()) {
    if (key != prefix && !key.starts_with(message(prefix, ".")))
      continue;
    const Json value = *metadata.find(key);
    auto text = value.string();
    if (!text)
      return text.error();
    if (text->size() > maxTemplateBytes || !isUtf8(*text) || !isUtf8(key))
      return value.error(
          "INGOT-E1405",
          message("the chat template is longer than ", maxTemplateBytes, " bytes or not UTF-8"),
          "correct the template");
    std::string name = key == prefix ? "default" : key.substr(prefix.size() + 1);
    spec.chatTemplates.push_back({std::move(name), *std::move(text)});
  }
  return {};
}

} // namespace

Expected<TokenizerSpec> parseGgufTokenizer(const Json &metadata) {
  const auto given = metadata.at(tokenizerKey("model"));
  if (!given)
    return given.error();
  const auto model = given->string();
  if (!model)
    return model.error();
  TokenizerSpec spec;
  bool addBos = true;
  Outcome done;
  if (*model == "llama") {
    done = readScored(metadata, spec);
  } else if (*model == "gpt2") {
    auto rule = findWordRule(metadata);
    if (!rule)
      return rule.error();
    addBos = (*rule)->addBos;
    done = readByteLevel(metadata, **rule, spec);
  } else {
    return given->error("INGOT-E1403",
                        message("the tokenizer model ", inQuotes(*model), " is not supported"),
                        "supported are llama (sentencepiece BPE) and gpt2 (byte-level BPE)");
  }
  if (done)
    done = readSpecialIds(metadata, addBos, spec);
  if (done)
    done = readTemplates(metadata, spec);
  if (!done)
    return done.error();
  return spec;
}

} // namespace ingot::checkpoint
