// SPDX-License-Identifier: Apache-2.0
// Reads the tokenizer in a GGUF file's metadata. Keys: `gguf-py/gguf/constants.py` of llama.cpp.
#include "compiler/checkpoint/gguf/GgufConfig.h"
#include "compiler/checkpoint/tokenizer/GgufWords.h"
#include "compiler/checkpoint/tokenizer/SentencePieces.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxTemplateBytes = size_t{1} << 20;

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

/// Whether the model makes a token from the text of a word.
bool isMade(const ScoredPiece &token) { return token.type == Normal || token.type == Byte; }

Outcome addEntry(size_t id, const ScoredPiece &token, const std::string &where,
                 TokenizerVocabulary &vocabulary) {
  if (isMade(token)) {
    if (token.text.size() > maxPieceBytes || !isUtf8(token.text))
      return Error{"INGOT-E1405",
                   message("token ", id, " is longer than ", maxPieceBytes, " bytes or not UTF-8"),
                   where, "correct the token"};
    return vocabulary.addPiece(id, token.text, where);
  }
  TokenizerAddedToken special;
  special.id = static_cast<uint32_t>(std::min<size_t>(id, maxTokenId));
  special.content = token.text;
  special.special = token.type != UserDefined;
  return vocabulary.addToken(special, where);
}

/// Pieces, added tokens and merges; an unused entry only fills its place. A text that repeats, as
/// in Google's files of Gemma 4, is an added token's, or the first id's, and others only decode.
Outcome readMerged(const Json &metadata, TokenizerSpec &spec) {
  auto tokens = readTokens(metadata, /*scored=*/false);
  if (!tokens)
    return tokens.error();
  const std::string where = metadata.where() + ": " + tokenizerKey("tokens");
  TokenizerVocabulary vocabulary(spec);
  std::vector<size_t> repeated;
  for (bool made : {false, true})
    for (size_t id = 0; id < tokens->size(); ++id) {
      const ScoredPiece &token = (*tokens)[id];
      if (token.type == Unused || isMade(token) != made)
        continue;
      if (id < maxTokenId && vocabulary.find(token.text))
        repeated.push_back(id);
      else if (Outcome added = addEntry(id, token, where, vocabulary); !added)
        return added;
    }
  auto merges = metadata.at(tokenizerKey("merges"));
  if (!merges)
    return merges.error();
  if (Outcome read = readMerges(*merges, vocabulary, spec); !read)
    return read;
  for (size_t id : repeated) {
    spec.pieces.resize(std::max(spec.pieces.size(), id + 1));
    spec.pieces[id] = {.text = (*tokens)[id].text, .inert = true};
  }
  return {};
}

/// A vocabulary of byte-level BPE. Pieces are spelled in the characters that stand for bytes, added
/// tokens as they are.
Outcome readByteLevel(const Json &metadata, const WordRule &rule, TokenizerSpec &spec) {
  if (Outcome read = readMerged(metadata, spec); !read)
    return read;
  return addWordRule(rule, metadata.where(), spec);
}

/// A vocabulary of sentencepiece with its merges, as Gemma 4's: texts are not cut into words.
Outcome readWithSpaces(const Json &metadata, TokenizerSpec &spec) {
  JsonFields fields(metadata);
  const SentencePieceSettings settings = {
      .addPrefix = fields.booleanOr(tokenizerKey("add_space_prefix"), false)};
  if (fields.error())
    return *fields.error();
  addSentencePieceSteps(settings, spec);
  spec.byteFallback = true;
  spec.fuseUnk = true;
  return readMerged(metadata, spec);
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
  } else if (*model == "gemma4") {
    done = readWithSpaces(metadata, spec);
  } else if (*model == "gpt2") {
    auto rule = findWordRule(metadata);
    if (!rule)
      return rule.error();
    addBos = (*rule)->addBos;
    done = readByteLevel(metadata, **rule, spec);
  } else {
    return given->error(
        "INGOT-E1403", message("the tokenizer model ", inQuotes(*model), " is not supported"),
        "supported are llama (sentencepiece BPE), gpt2 (byte-level BPE) and gemma4");
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
