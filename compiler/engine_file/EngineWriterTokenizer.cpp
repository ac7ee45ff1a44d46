// SPDX-License-Identifier: Apache-2.0
// Writes the tokenizer section of an engine.
#include "compiler/engine_file/EngineWriterTokenizer.h"

#include "runtime/schema/Tokenizer_generated.h"

namespace ingot::compiler {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// Empty text means "absent", which costs no bytes.
Offset<flatbuffers::String> text(FlatBufferBuilder &builder, const std::string &value) {
  return value.empty() ? 0 : builder.CreateString(value);
}

struct Pieces {
  Offset<flatbuffers::Vector<uint8_t>> bytes;
  Offset<flatbuffers::Vector<uint32_t>> offsets;
  Offset<flatbuffers::Vector<uint8_t>> flags;
};

Pieces writePieces(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::string bytes;
  std::vector<uint32_t> offsets = {0};
  std::vector<uint8_t> flags;
  for (const checkpoint::TokenizerPiece &piece : spec.pieces) {
    bytes += piece.text;
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
    flags.push_back((piece.model ? static_cast<uint8_t>(schema::PieceFlag::Model) : 0) |
                    (piece.added ? static_cast<uint8_t>(schema::PieceFlag::Added) : 0) |
                    (piece.inert ? static_cast<uint8_t>(schema::PieceFlag::Inert) : 0));
  }
  return {builder.CreateVector(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()),
          builder.CreateVector(offsets), builder.CreateVector(flags)};
}

auto writeMerges(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::vector<schema::Merge> merges;
  merges.reserve(spec.merges.size());
  for (const checkpoint::TokenizerMerge &merge : spec.merges)
    merges.emplace_back(merge.left, merge.right, merge.result);
  return builder.CreateVectorOfStructs(merges);
}

auto writeAddedTokens(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::vector<Offset<schema::AddedToken>> tokens;
  for (const checkpoint::TokenizerAddedToken &token : spec.addedTokens) {
    const auto content = builder.CreateString(token.content);
    const auto pattern = text(builder, token.pattern);
    tokens.push_back(schema::CreateAddedToken(builder, token.id, content, pattern, token.singleWord,
                                              token.leftStrip, token.rightStrip, token.normalized,
                                              token.special));
  }
  return builder.CreateVector(tokens);
}

auto writeNormalizer(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::vector<Offset<schema::NormalizerStep>> steps;
  for (const checkpoint::TokenizerNormalizerStep &step : spec.normalizer) {
    const auto pattern = text(builder, step.pattern);
    const auto content = text(builder, step.content);
    const auto map = step.map.empty()
                         ? 0
                         : builder.CreateVector(reinterpret_cast<const uint8_t *>(step.map.data()),
                                                step.map.size());
    steps.push_back(
        schema::CreateNormalizerStep(builder, static_cast<schema::NormalizerKind>(step.kind),
                                     pattern, content, step.left, step.right, step.atStart, map));
  }
  return builder.CreateVector(steps);
}

auto writePreTokenizer(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::vector<Offset<schema::PreTokenizerStep>> steps;
  for (const checkpoint::TokenizerPreTokenizerStep &step : spec.preTokenizer) {
    const bool splits = step.kind == checkpoint::TokenizerPreTokenizerStep::Split;
    const auto pattern = splits ? builder.CreateString(step.pattern) : 0;
    const auto replacement = text(builder, step.replacement);
    steps.push_back(schema::CreatePreTokenizerStep(
        builder, static_cast<schema::PreTokenizerKind>(step.kind), pattern,
        static_cast<schema::SplitBehavior>(step.behavior), step.invert, replacement,
        static_cast<schema::PrependScheme>(step.prepend)));
  }
  return builder.CreateVector(steps);
}

auto writeDecoder(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::vector<Offset<schema::DecoderStep>> steps;
  for (const checkpoint::TokenizerDecoderStep &step : spec.decoder) {
    const auto pattern = text(builder, step.pattern);
    const auto content = text(builder, step.content);
    steps.push_back(schema::CreateDecoderStep(builder, static_cast<schema::DecoderKind>(step.kind),
                                              pattern, content, step.start, step.stop,
                                              static_cast<schema::PrependScheme>(step.prepend)));
  }
  return builder.CreateVector(steps);
}

auto writeChatTemplates(FlatBufferBuilder &builder, const checkpoint::TokenizerSpec &spec) {
  std::vector<Offset<schema::ChatTemplate>> templates;
  for (const checkpoint::TokenizerChatTemplate &chat : spec.chatTemplates) {
    const auto name = builder.CreateString(chat.name);
    const auto body = builder.CreateString(chat.text);
    templates.push_back(schema::CreateChatTemplate(builder, name, body));
  }
  return builder.CreateVector(templates);
}

} // namespace

std::vector<uint8_t> writeTokenizer(const checkpoint::TokenizerSpec &spec) {
  FlatBufferBuilder builder(1 << 20);
  const Pieces pieces = writePieces(builder, spec);
  const auto scores = spec.scores.empty() ? 0 : builder.CreateVector(spec.scores);
  const auto merges = writeMerges(builder, spec);
  const auto ranks = spec.mergeRanks.empty() ? 0 : builder.CreateVector(spec.mergeRanks);
  const auto added = writeAddedTokens(builder, spec);
  const auto normalizer = writeNormalizer(builder, spec);
  const auto preTokenizer = writePreTokenizer(builder, spec);
  const auto decoder = writeDecoder(builder, spec);
  const auto prefix = builder.CreateVector(spec.prefixIds);
  const auto suffix = builder.CreateVector(spec.suffixIds);
  const auto templates = writeChatTemplates(builder, spec);
  const auto unigram = spec.unigramScores.empty() ? 0 : builder.CreateVector(spec.unigramScores);

  schema::TokenizerBuilder table(builder);
  table.add_piece_bytes(pieces.bytes);
  table.add_piece_offsets(pieces.offsets);
  table.add_piece_flags(pieces.flags);
  table.add_scores(scores);
  table.add_merges(merges);
  table.add_merge_ranks(ranks);
  table.add_added_tokens(added);
  table.add_normalizer(normalizer);
  table.add_pre_tokenizer(preTokenizer);
  table.add_decoder(decoder);
  table.add_prefix_ids(prefix);
  table.add_suffix_ids(suffix);
  table.add_unk_id(spec.unkId);
  table.add_bos_id(spec.bosId);
  table.add_eos_id(spec.eosId);
  table.add_pad_id(spec.padId);
  table.add_byte_fallback(spec.byteFallback);
  table.add_fuse_unk(spec.fuseUnk);
  table.add_ignore_merges(spec.ignoreMerges);
  table.add_clean_up_spaces(spec.cleanUpSpaces);
  table.add_chat_templates(templates);
  table.add_unigram_scores(unigram);
  table.add_unknown_score(spec.unknownScore);
  schema::FinishTokenizerBuffer(builder, table.Finish());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace ingot::compiler
