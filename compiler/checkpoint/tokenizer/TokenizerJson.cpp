// SPDX-License-Identifier: Apache-2.0
// Reads a tokenizer.json with a BPE or Unigram model into a TokenizerSpec.
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerSteps.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxUnigramPieceBytes = 1024;

/// The model's type, "BPE" or "Unigram". Errors: INGOT-E1403 (another type), INGOT-E1408 (the model
/// asks for something this reader cannot express).
Expected<std::string> checkModel(const Json &model) {
  JsonFields fields(model);
  const std::string type = fields.stringOr("type", "BPE");
  const double dropout = fields.numberOr("dropout", 0, 0, 1);
  const std::string prefix = fields.stringOr("continuing_subword_prefix", "");
  const std::string suffix = fields.stringOr("end_of_word_suffix", "");
  if (fields.error())
    return *fields.error();
  if (type != "BPE" && type != "Unigram")
    return model.error("INGOT-E1403",
                       message("the tokenizer model ", inQuotes(type), " is not supported"),
                       "use a checkpoint with a BPE or Unigram tokenizer");
  if (dropout != 0)
    return model.error("INGOT-E1408", "dropout makes encoding random", "set dropout to null");
  if (!prefix.empty() || !suffix.empty())
    return model.error("INGOT-E1408",
                       "continuing_subword_prefix and end_of_word_suffix are not supported",
                       "use a checkpoint whose tokenizer does without them");
  return type;
}

Outcome readVocabulary(const Json &model, TokenizerVocabulary &vocabulary) {
  Expected<Json> member = model.at("vocab");
  if (!member)
    return member.error();
  if (!member->isObject())
    return member->wrongType("an object");
  for (const auto &[text, id] : member->raw().items()) {
    if (!id.is_number_unsigned())
      return member->error("INGOT-E1404", message("the id of ", inQuotes(text), " is no id"),
                           "correct the id");
    if (text.size() > maxPieceBytes || !isUtf8(text))
      return member->error("INGOT-E1405",
                           message("a piece is longer than ", maxPieceBytes, " bytes or not UTF-8"),
                           "correct the piece");
    if (Outcome done = vocabulary.addPiece(id.get<uint64_t>(), text, member->where()); !done)
      return done;
  }
  return {};
}

Outcome readMergesOf(const Json &model, const TokenizerVocabulary &vocabulary,
                     TokenizerSpec &spec) {
  Expected<Json> member = model.at("merges");
  if (!member)
    return member.error();
  return readMerges(*member, vocabulary, spec);
}

Outcome readUnknown(const Json &model, const TokenizerVocabulary &vocabulary, TokenizerSpec &spec) {
  JsonFields fields(model);
  const std::string unknown = fields.stringOr("unk_token", "");
  spec.byteFallback = fields.booleanOr("byte_fallback", false);
  spec.fuseUnk = fields.booleanOr("fuse_unk", false);
  spec.ignoreMerges = fields.booleanOr("ignore_merges", false);
  if (fields.error())
    return *fields.error();
  if (unknown.empty())
    return {};
  const std::optional<uint32_t> id = vocabulary.find(unknown);
  if (!id)
    return model.error("INGOT-E1404",
                       message("unk_token ", inQuotes(unknown), " is not in the vocabulary"),
                       "add it or set unk_token to null");
  spec.unkId = static_cast<int32_t>(*id);
  return {};
}

Outcome readBpe(const Json &model, TokenizerVocabulary &vocabulary, TokenizerSpec &spec) {
  if (Outcome done = readVocabulary(model, vocabulary); !done)
    return done;
  if (Outcome done = readMergesOf(model, vocabulary, spec); !done)
    return done;
  return readUnknown(model, vocabulary, spec);
}

/// A Unigram model: "vocab" lists pieces with their log probabilities, in order of their ids.
Outcome readUnigram(const Json &model, TokenizerVocabulary &vocabulary, TokenizerSpec &spec) {
  Expected<Json> member = model.at("vocab");
  if (!member)
    return member.error();
  if (!member->isArray())
    return member->wrongType("a list of pieces and scores");
  const nlohmann::json &entries = member->raw();
  double worst = 0;
  std::vector<double> scores;
  for (const nlohmann::json &entry : entries) {
    const std::string *text =
        entry.is_array() && entry.size() == 2 ? entry[0].get_ptr<const std::string *>() : nullptr;
    if (!text || text->empty() || text->size() > maxUnigramPieceBytes || !isUtf8(*text) ||
        !entry[1].is_number() || !std::isfinite(entry[1].get<double>()))
      return member->element(scores.size())
          .error("INGOT-E1422",
                 message("piece ", scores.size(), " is not a text of 1 to ", maxUnigramPieceBytes,
                         " bytes in UTF-8 and its score"),
                 "export the tokenizer again");
    if (Outcome done = vocabulary.addPiece(scores.size(), *text, member->where()); !done)
      return done;
    scores.push_back(entry[1].get<double>());
    worst = std::min(worst, scores.back());
  }
  const std::optional<Json> unknown = model.find("unk_id");
  if (!unknown || unknown->isNull() || scores.empty())
    return model.error("INGOT-E1422", "a Unigram model without pieces or without unk_id",
                       "export the tokenizer again");
  Expected<uint64_t> id = unknown->unsignedInteger(0, scores.size() - 1);
  if (!id)
    return id.error();
  JsonFields fields(model);
  spec.byteFallback = fields.booleanOr("byte_fallback", false);
  if (fields.error())
    return *fields.error();
  spec.unkId = static_cast<int32_t>(*id);
  spec.fuseUnk = true;
  spec.unigramScores = std::move(scores);
  spec.unknownScore = worst - double{unknownPenalty};
  return {};
}

Outcome readAddedTokens(const Json &list, TokenizerVocabulary &vocabulary) {
  if (!list.isArray())
    return list.wrongType("a list");
  for (size_t i = 0; i < list.size(); ++i) {
    const Json token = list.element(i);
    JsonFields fields(token);
    TokenizerAddedToken added;
    added.id = static_cast<uint32_t>(fields.unsignedInteger("id", 0, maxTokenId - 1));
    readAddedToken(fields, added);
    if (fields.error())
      return *fields.error();
    if (Outcome done = vocabulary.addToken(added, token.where()); !done)
      return done;
  }
  return {};
}

/// The member `key` of `root` if it is there and not null.
std::optional<Json> given(const Json &root, std::string_view key) {
  std::optional<Json> member = root.find(key);
  if (member && member->isNull())
    return std::nullopt;
  return member;
}

} // namespace

Expected<TokenizerSpec> parseTokenizerJson(std::string_view text, const std::string &fileName) {
  Expected<Json> root = Json::parse(text, fileName);
  if (!root)
    return root.error();
  Expected<Json> model = root->at("model");
  if (!model)
    return model.error();

  TokenizerSpec spec;
  spec.affixesStand = true;
  TokenizerVocabulary vocabulary(spec);
  Expected<std::string> type = checkModel(*model);
  if (!type)
    return type.error();
  Outcome done = *type == "Unigram" ? readUnigram(*model, vocabulary, spec)
                                    : readBpe(*model, vocabulary, spec);
  if (const auto member = given(*root, "added_tokens"); done && member)
    done = readAddedTokens(*member, vocabulary);
  if (const auto member = given(*root, "normalizer"); done && member)
    done = readNormalizer(*member, spec);
  if (const auto member = given(*root, "pre_tokenizer"); done && member)
    done = readPreTokenizer(*member, spec);
  if (const auto member = given(*root, "post_processor"); done && member)
    done = readPostProcessor(*member, vocabulary, spec);
  if (!done)
    return done.error();
  const auto decoder = given(*root, "decoder");
  if (!decoder)
    return root->error("INGOT-E1412", "there is no decoder, so ids cannot become text",
                       "export the tokenizer with its decoder");
  if (done = readDecoder(*decoder, spec); !done)
    return done.error();
  return spec;
}

} // namespace ingot::checkpoint
