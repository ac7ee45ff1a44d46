// SPDX-License-Identifier: Apache-2.0
// Reads a sentencepiece model with a BPE or Unigram vocabulary into a TokenizerSpec.
#include "compiler/checkpoint/tokenizer/SentencePiece.pb.h"
#include "compiler/checkpoint/tokenizer/SentencePieces.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxModelBytes = size_t{32} << 20;

Error damaged(const std::string &what, const std::string &where) {
  return Error{"INGOT-E1413", what, where, "copy or export the file again"};
}

PieceModel modelOf(const sentencepiece::TrainerSpec &trainer) {
  return static_cast<PieceModel>(trainer.model_type());
}

Outcome readPieces(const sentencepiece::Model &model, const std::string &where,
                   TokenizerSpec &spec) {
  std::vector<ScoredPiece> pieces;
  for (const sentencepiece::Piece &from : model.pieces())
    pieces.push_back({from.piece(), from.score(), from.type()});
  return addScoredPieces(pieces, modelOf(model.trainer_spec()), where, spec);
}

Outcome readNormalizer(const sentencepiece::NormalizerSpec &from, const std::string &where,
                       TokenizerSpec &spec) {
  if (const std::string &map = from.precompiled_charsmap(); !map.empty()) {
    if (!isCharacterMap(map))
      return damaged("the character map of the normalizer is malformed", where);
    spec.normalizer.push_back({.kind = TokenizerNormalizerStep::PrefixMap, .map = map});
  }
  addSentencePieceSteps({.addPrefix = from.add_dummy_prefix(),
                         .removeExtraSpaces = from.remove_extra_whitespaces(),
                         .escapeSpaces = from.escape_whitespaces()},
                        spec);
  return {};
}

/// The byte where the first field begins that cannot be read.
size_t faultIn(std::string_view bytes) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  for (;;) {
    const auto begin = static_cast<size_t>(stream.CurrentPosition());
    const uint32_t tag = stream.ReadTag();
    if (tag == 0 || !google::protobuf::internal::WireFormatLite::SkipField(&stream, tag))
      return begin;
    sentencepiece::Model field;
    if (!field.ParseFromArray(bytes.data() + begin,
                              stream.CurrentPosition() - static_cast<int>(begin)))
      return begin;
  }
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
    return damaged("not a sentencepiece model",
                   message(printable(fileName), ": byte ", faultIn(bytes)));
  const sentencepiece::TrainerSpec &trainer = model.trainer_spec();
  if (modelOf(trainer) != PieceModel::Unigram && modelOf(trainer) != PieceModel::Bpe)
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
  if (modelOf(trainer) == PieceModel::Unigram && spec.unkId < 0)
    return damaged("a Unigram vocabulary without an unknown piece", fileName);
  spec.byteFallback = trainer.byte_fallback();
  spec.fuseUnk = true;
  if (spec.bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(spec.bosId));
  return spec;
}

} // namespace ingot::checkpoint
