// SPDX-License-Identifier: Apache-2.0
// Reads a tokenizer.json with a BPE model into a TokenizerSpec.
#include "compiler/checkpoint/JsonFields.h"
#include "compiler/checkpoint/TokenizerReader.h"
#include "compiler/checkpoint/TokenizerSteps.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

/// INGOT-E1408: the model asks for something this reader cannot express.
Outcome checkModel(const Json &model) {
  JsonFields fields(model);
  const std::string type = fields.stringOr("type", "BPE");
  const double dropout = fields.numberOr("dropout", 0, 0, 1);
  const std::string prefix = fields.stringOr("continuing_subword_prefix", "");
  const std::string suffix = fields.stringOr("end_of_word_suffix", "");
  if (fields.error())
    return *fields.error();
  if (type != "BPE")
    return model.error("INGOT-E1403",
                       message("the tokenizer model ", inQuotes(type), " is not supported"),
                       "use a checkpoint with a BPE tokenizer");
  if (dropout != 0)
    return model.error("INGOT-E1408", "dropout makes encoding random", "set dropout to null");
  if (!prefix.empty() || !suffix.empty())
    return model.error("INGOT-E1408",
                       "continuing_subword_prefix and end_of_word_suffix are not supported",
                       "use a checkpoint whose tokenizer does without them");
  return {};
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
  TokenizerVocabulary vocabulary(spec);
  Outcome done = checkModel(*model);
  if (done)
    done = readVocabulary(*model, vocabulary);
  if (done)
    done = readMergesOf(*model, vocabulary, spec);
  if (done)
    done = readUnknown(*model, vocabulary, spec);
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
