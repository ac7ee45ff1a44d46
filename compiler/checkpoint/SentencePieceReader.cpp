// SPDX-License-Identifier: Apache-2.0
// Reads a sentencepiece model with a BPE or Unigram vocabulary into a TokenizerSpec.
#include "compiler/checkpoint/SentencePiece.pb.h"
#include "compiler/checkpoint/TokenizerReader.h"
#include "compiler/checkpoint/TokenizerVocabulary.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxModelBytes = size_t{32} << 20;
constexpr std::string_view spaceMark = "\u2581";

/// How much worse an unknown character is than the worst piece of a Unigram model.
constexpr float unknownPenalty = 10;

enum ModelType { Unigram = 1, Bpe };
enum PieceType { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

Error damaged(const std::string &what, const std::string &where) {
  return Error{"INGOT-E1413", what, where, "copy or export the file again"};
}

/// The scores of a Unigram model. Only normal pieces are made from text, bytes from bytes.
Outcome scorePieces(const std::vector<bool> &normal, const std::string &where,
                    TokenizerSpec &spec) {
  float worst = 0;
  for (size_t id = 0; id < spec.pieces.size(); ++id) {
    spec.pieces[id].model = normal[id];
    spec.pieces[id].inert = !normal[id] && !spec.pieces[id].added;
    if (normal[id])
      worst = std::min(worst, spec.scores[id]);
  }
  if (std::find(normal.begin(), normal.end(), true) == normal.end())
    return damaged("a Unigram vocabulary without a normal piece", where);
  spec.unigramScores.assign(spec.scores.begin(), spec.scores.end());
  spec.unknownScore = worst - unknownPenalty;
  return {};
}

/// INGOT-E1409: sentencepiece's BPE would merge an unused piece out of others and take it apart
/// again.
Outcome checkUnused(const sentencepiece::Model &model, const TokenizerSpec &spec,
                    const std::vector<bool> &mergeable, const std::string &where) {
  std::unordered_set<std::string_view> texts;
  for (size_t id = 0; id < spec.pieces.size(); ++id)
    if (mergeable[id])
      texts.insert(spec.pieces[id].text);
  for (const sentencepiece::Piece &piece : model.pieces()) {
    const std::string_view text = piece.piece();
    for (size_t cut = 1; piece.type() == Unused && cut < text.size(); ++cut)
      if (texts.contains(text.substr(0, cut)) && texts.contains(text.substr(cut)))
        return Error{"INGOT-E1409",
                     message("the unused piece ", inQuotes(text),
                             ", which merges from others, is "
                             "not supported"),
                     where, "use a checkpoint whose tokenizer does without it"};
  }
  return {};
}

/// Added tokens: control pieces are special; user-defined ones are cut from the normalized text and
/// never merge.
Outcome readPieces(const sentencepiece::Model &model, const std::string &where,
                   TokenizerSpec &spec) {
  if (model.pieces_size() == 0 || static_cast<uint64_t>(model.pieces_size()) > maxTokenId)
    return damaged(message("a vocabulary of ", model.pieces_size(), " pieces"), where);
  std::vector<bool> mergeable;
  for (const sentencepiece::Piece &from : model.pieces()) {
    const auto id = static_cast<uint32_t>(spec.pieces.size());
    const std::string &text = from.piece();
    if (text.empty() || text.size() > maxAddedTokenBytes || !isUtf8(text) ||
        !std::isfinite(from.score()) || from.type() < Normal || from.type() > Byte)
      return damaged(message("piece ", id, " is empty, longer than ", maxAddedTokenBytes,
                             " bytes, not UTF-8, or has no valid score or type"),
                     where);
    const bool added =
        from.type() == Unknown || from.type() == Control || from.type() == UserDefined;
    spec.pieces.push_back({text, from.type() != Control, added});
    spec.scores.push_back(from.score());
    mergeable.push_back(from.type() == Normal);
    if (added) {
      TokenizerAddedToken token;
      token.id = id;
      token.content = text;
      token.special = from.type() != UserDefined;
      token.normalized = !token.special;
      if (token.normalized)
        token.pattern = text;
      spec.addedTokens.push_back(std::move(token));
    }
  }
  if (model.trainer_spec().model_type() == Unigram)
    return scorePieces(mergeable, where, spec);
  if (Outcome done = checkUnused(model, spec, mergeable, where); !done)
    return done;
  return mergeByScores(spec, mergeable, where);
}

Outcome readNormalizer(const sentencepiece::NormalizerSpec &from, const std::string &where,
                       TokenizerSpec &spec) {
  using Step = TokenizerNormalizerStep;
  const std::string space(from.escape_whitespaces() ? spaceMark : " ");
  if (const std::string &map = from.precompiled_charsmap(); !map.empty()) {
    if (!isCharacterMap(map))
      return damaged("the character map of the normalizer is malformed", where);
    spec.normalizer.push_back({.kind = Step::PrefixMap, .map = map});
  }
  if (from.remove_extra_whitespaces()) {
    spec.normalizer.push_back({.kind = Step::ReplaceRegex, .pattern = " {2,}", .content = " "});
    spec.normalizer.push_back({.kind = Step::ReplaceRegex, .pattern = "\\A | \\z"});
  }
  if (from.add_dummy_prefix())
    spec.normalizer.push_back({.kind = Step::Prepend, .content = space});
  if (from.escape_whitespaces())
    spec.normalizer.push_back({.kind = Step::ReplaceText, .pattern = " ", .content = space});

  if (from.escape_whitespaces())
    spec.decoder.push_back(
        {.kind = TokenizerDecoderStep::Replace, .pattern = space, .content = " "});
  spec.decoder.push_back({.kind = TokenizerDecoderStep::ByteFallback});
  spec.decoder.push_back({.kind = TokenizerDecoderStep::Fuse});
  if (from.add_dummy_prefix())
    spec.decoder.push_back({.kind = TokenizerDecoderStep::Strip, .pattern = " ", .start = 1});
  return {};
}

} // namespace

Expected<TokenizerSpec> parseSentencePiece(std::string_view bytes, const std::string &fileName) {
  if (bytes.size() > maxModelBytes)
    return damaged(message(bytes.size(), " bytes are more than a sentencepiece model has"),
                   fileName);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(8);
  sentencepiece::Model model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return damaged("not a sentencepiece model", fileName);
  const sentencepiece::TrainerSpec &trainer = model.trainer_spec();
  if (trainer.model_type() != Unigram && trainer.model_type() != Bpe)
    return Error{"INGOT-E1403",
                 message("a sentencepiece model of type ", trainer.model_type(),
                         " is neither Unigram (1) nor BPE (2)"),
                 fileName, "use a checkpoint with a Unigram or BPE tokenizer"};
  for (const auto &[setting, name] :
       {std::pair(trainer.treat_whitespace_as_suffix(), "treat_whitespace_as_suffix"),
        std::pair(!model.denormalizer_spec().precompiled_charsmap().empty(), "denormalizer_spec")})
    if (setting)
      return Error{"INGOT-E1409", message("the setting ", inQuotes(name), " is not supported"),
                   fileName, "use a checkpoint whose tokenizer does without it"};
  TokenizerSpec spec;
  if (Outcome read = readPieces(model, fileName, spec); !read)
    return read.error();
  if (Outcome read = readNormalizer(model.normalizer_spec(), fileName, spec); !read)
    return read.error();

  auto specialId = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < spec.pieces.size() ? id : -1;
  };
  spec.unkId = specialId(trainer.unk_id());
  spec.bosId = specialId(trainer.bos_id());
  spec.eosId = specialId(trainer.eos_id());
  spec.padId = specialId(trainer.pad_id());
  if (trainer.model_type() == Unigram && spec.unkId < 0)
    return damaged("a Unigram vocabulary without an unknown piece", fileName);
  spec.byteFallback = trainer.byte_fallback();
  spec.fuseUnk = true;
  if (spec.bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(spec.bosId));
  return spec;
}

} // namespace ingot::checkpoint
