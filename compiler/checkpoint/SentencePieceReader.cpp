// SPDX-License-Identifier: Apache-2.0
// Reads a sentencepiece model with a BPE vocabulary into a TokenizerSpec.
#include "compiler/checkpoint/SentencePiece.pb.h"
#include "compiler/checkpoint/SentencePieces.h"
#include "compiler/checkpoint/TokenizerReader.h"

#include <google/protobuf/io/coded_stream.h>

namespace ingot::checkpoint {

namespace {

constexpr size_t maxModelBytes = size_t{32} << 20;
Error damaged(const std::string &what, const std::string &where) {
  return Error{"INGOT-E1413", what, where, "copy or export the file again"};
}

Outcome readPieces(const sentencepiece::Model &model, const std::string &where,
                   TokenizerSpec &spec) {
  std::vector<ScoredPiece> pieces;
  for (const sentencepiece::Piece &from : model.pieces())
    pieces.push_back({from.piece(), from.score(), from.type()});
  return addScoredPieces(pieces, where, spec);
}

Outcome readNormalizer(const sentencepiece::NormalizerSpec &from, const std::string &where,
                       TokenizerSpec &spec) {
  if (!from.precompiled_charsmap().empty())
    return Error{"INGOT-E1409",
                 message("the sentencepiece normalizer ", inQuotes(from.name()),
                         " (a character map) is not supported"),
                 where, "export a tokenizer.json whose normalizer has named steps"};
  addSentencePieceSteps({.addPrefix = from.add_dummy_prefix(),
                         .removeExtraSpaces = from.remove_extra_whitespaces(),
                         .escapeSpaces = from.escape_whitespaces()},
                        spec);
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
  if (trainer.model_type() != 2)
    return Error{"INGOT-E1403",
                 message("a sentencepiece model of type ", trainer.model_type(),
                         trainer.model_type() == 1 ? " (Unigram)" : "", " is not supported"),
                 fileName, "use a checkpoint with a BPE tokenizer"};
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
  spec.byteFallback = trainer.byte_fallback();
  spec.fuseUnk = true;
  if (spec.bosId >= 0)
    spec.prefixIds.push_back(static_cast<uint32_t>(spec.bosId));
  return spec;
}

} // namespace ingot::checkpoint
