// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as the tokenizer section of an engine says.
#include "runtime/serving/Tokenizer.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <map>

namespace ingot::runtime {

namespace {

constexpr size_t maxPieces = size_t(1) << 24;
constexpr size_t maxAffixIds = 64;
constexpr size_t maxSteps = 64;

// How much scratch memory is kept between calls: at most this many times, each of this size.
constexpr size_t maxIdleScratch = 16;
constexpr size_t maxKeptEntries = size_t(1) << 17;

Status malformed(const std::string &what) {
  return Status::error("INGOT-E5402", "the tokenizer " + what, "build the engine again");
}

bool isUtf8(std::string_view text) { return validUtf8Prefix(text) == text.size(); }

std::string_view view(const flatbuffers::String *text) {
  return text ? text->string_view() : std::string_view();
}

/// Whether `id` is an id of the vocabulary that has a piece.
bool isPiece(const schema::Tokenizer &description, uint32_t id) {
  const auto &flags = *description.piece_flags();
  return id < flags.size() && flags.Get(id) != 0;
}

/// The pieces: offsets in order and in bounds, text UTF-8, flags known.
Status checkPieces(const schema::Tokenizer &description) {
  const auto &bytes = *description.piece_bytes();
  const auto &offsets = *description.piece_offsets();
  const auto &flags = *description.piece_flags();
  if (flags.size() == 0 || flags.size() > maxPieces || offsets.size() != flags.size() + 1)
    return malformed("has " + std::to_string(flags.size()) + " pieces and " +
                     std::to_string(offsets.size()) + " offsets");
  if (description.scores() && description.scores()->size() != flags.size())
    return malformed("has as many scores as it should not");
  if (offsets.Get(0) != 0 || offsets.Get(flags.size()) != bytes.size())
    return malformed("has pieces outside their bytes");
  const std::string_view all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  const auto known = static_cast<uint8_t>(schema::PieceFlag::Model) |
                     static_cast<uint8_t>(schema::PieceFlag::Added) |
                     static_cast<uint8_t>(schema::PieceFlag::Inert);
  for (uint32_t id = 0; id < flags.size(); ++id) {
    const uint32_t begin = offsets.Get(id), end = offsets.Get(id + 1);
    if (end < begin || end > bytes.size() || (flags.Get(id) & ~known) != 0 ||
        (begin == end) != (flags.Get(id) == 0) || !isUtf8(all.substr(begin, end - begin)))
      return malformed("has a malformed piece, id " + std::to_string(id));
  }
  return Status::success();
}

Status checkSpecialIds(const schema::Tokenizer &description) {
  for (int32_t id :
       {description.unk_id(), description.bos_id(), description.eos_id(), description.pad_id()})
    if (id < -1 || (id >= 0 && !isPiece(description, static_cast<uint32_t>(id))))
      return malformed("has a special id without a piece, " + std::to_string(id));
  for (const auto *affix : {description.prefix_ids(), description.suffix_ids()}) {
    if (!affix)
      continue;
    if (affix->size() > maxAffixIds)
      return malformed("adds too many ids to a text");
    for (uint32_t id : *affix)
      if (!isPiece(description, id))
        return malformed("adds an id without a piece, " + std::to_string(id));
  }
  return Status::success();
}

Status checkRest(const schema::Tokenizer &description) {
  if ((description.normalizer() && description.normalizer()->size() > maxSteps) ||
      (description.pre_tokenizer() && description.pre_tokenizer()->size() > maxSteps) ||
      (description.decoder() && description.decoder()->size() > maxSteps))
    return malformed("has more than " + std::to_string(maxSteps) + " steps of a kind");
  if (description.chat_templates())
    for (const schema::ChatTemplate *chat : *description.chat_templates())
      if (!isUtf8(chat->name()->string_view()) || !isUtf8(chat->text()->string_view()))
        return malformed("has a chat template that is not UTF-8");
  return Status::success();
}

/// A pattern or replacement of at most this is kept from making decoding quadratic.
constexpr size_t maxDecodeText = 256;

bool isWellFormed(const schema::DecoderStep &step, bool fused) {
  const std::string_view pattern = view(step.pattern());
  if (!isUtf8(pattern) || !isUtf8(view(step.content())) || pattern.size() > maxDecodeText ||
      view(step.content()).size() > maxDecodeText || step.prepend() > schema::PrependScheme::MAX)
    return false;
  const bool oneCharacter =
      !pattern.empty() && utf8Length(static_cast<unsigned char>(pattern[0])) == pattern.size();
  switch (step.kind()) {
  case schema::DecoderKind::ByteLevel:
  case schema::DecoderKind::ByteFallback:
    return !fused;
  case schema::DecoderKind::Fuse:
    return true;
  case schema::DecoderKind::Strip:
    return oneCharacter && step.start() <= maxDecodeText && step.stop() <= maxDecodeText;
  case schema::DecoderKind::Replace:
    return !pattern.empty();
  case schema::DecoderKind::Metaspace:
    return oneCharacter && !fused;
  }
  return false;
}

} // namespace

Result<Tokenizer> Tokenizer::load(std::span<const std::byte> bytes) {
  const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), /*max_depth=*/16, /*max_tables=*/1u << 20);
  if (bytes.size() < 16 || reinterpret_cast<uintptr_t>(data) % 8 != 0 ||
      bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !schema::TokenizerBufferHasIdentifier(data) ||
      !schema::VerifyTokenizerBuffer(verifier))
    return Status::error("INGOT-E5401", "the tokenizer section is damaged",
                         "copy or build the engine again");
  Tokenizer tokenizer;
  tokenizer.description = schema::GetTokenizer(data);
  const schema::Tokenizer &description = *tokenizer.description;
  for (auto check : {checkPieces, checkSpecialIds, checkRest})
    if (Status status = check(description); !status.ok())
      return status;

  Result<Normalizer> normalizer = Normalizer::create(description);
  if (!normalizer.ok())
    return normalizer.status();
  tokenizer.normalizer = *std::move(normalizer);
  Result<PreTokenizer> preTokenizer = PreTokenizer::create(description);
  if (!preTokenizer.ok())
    return preTokenizer.status();
  tokenizer.preTokenizer = *std::move(preTokenizer);
  if (Status status = tokenizer.loadModel(); !status.ok())
    return status;
  if (Status status = tokenizer.loadAddedTokens(); !status.ok())
    return status;
  if (Status status = tokenizer.loadDecoder(); !status.ok())
    return status;
  return tokenizer;
}

Status Tokenizer::loadModel() {
  if (description->unigram_scores()) {
    Result<Unigram> made = Unigram::create(*description);
    if (!made.ok())
      return made.status();
    unigram = *std::move(made);
    return Status::success();
  }
  Result<Bpe> made = Bpe::create(*description);
  if (!made.ok())
    return made.status();
  bpe = *std::move(made);
  // Words are merged, and remembered, as the bytes they are: their spelling is never made.
  if (preTokenizer.endsWithByteLevel() && bpe.takeBytes())
    preTokenizer.dropLastStep();
  return Status::success();
}

Status Tokenizer::loadAddedTokens() {
  special.assign(size(), false);
  std::vector<AddedToken> raw, normalized;
  if (!description->added_tokens())
    return Status::success();
  for (const schema::AddedToken *from : *description->added_tokens()) {
    const std::string_view content = from->content()->string_view();
    const auto added = static_cast<uint8_t>(schema::PieceFlag::Added);
    if (from->id() >= size() || !(description->piece_flags()->Get(from->id()) & added) ||
        content != piece(static_cast<int32_t>(from->id())) || !isUtf8(view(from->pattern())))
      return malformed("has a malformed added token, id " + std::to_string(from->id()));
    special[from->id()] = special[from->id()] || from->special();
    std::string pattern(content);
    if (from->pattern())
      pattern = from->pattern()->str();
    else if (from->normalized())
      if (Status status = normalizer.normalize(pattern, /*atStart=*/true); !status.ok())
        return status;
    if (pattern.size() > AddedTokens::maxPatternBytes)
      return malformed("has an added token of more than " +
                       std::to_string(AddedTokens::maxPatternBytes) + " bytes, id " +
                       std::to_string(from->id()));
    if (pattern.empty()) // the normalizer leaves nothing to look for
      continue;
    (from->normalized() ? normalized : raw)
        .push_back({std::move(pattern), from->id(), from->single_word(), from->lstrip(),
                    from->rstrip(), from->special()});
  }
  rawTokens = AddedTokens(std::move(raw));
  normalizedTokens = AddedTokens(std::move(normalized));
  return Status::success();
}

Status Tokenizer::loadDecoder() {
  if (!description->decoder())
    return Status::success();
  bool fused = false;
  for (const schema::DecoderStep *from : *description->decoder()) {
    if (!isWellFormed(*from, fused))
      return Status::error("INGOT-E5403",
                           "decoder step " + std::to_string(decoder.size()) +
                               " of the tokenizer is malformed",
                           "build the engine again");
    decoder.push_back({static_cast<DecodeStep::Kind>(from->kind()),
                       std::string(view(from->pattern())), std::string(view(from->content())),
                       from->start(), from->stop(),
                       from->prepend() == schema::PrependScheme::Never});
    fused |=
        from->kind() == schema::DecoderKind::Fuse || from->kind() == schema::DecoderKind::ByteLevel;
  }
  return Status::success();
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool addSpecial,
                                               bool parseSpecial) const {
  return encode(text, addSpecial, Special{parseSpecial, {}});
}

Result<std::vector<int32_t>> Tokenizer::encodePrompt(std::string_view text,
                                                     std::span<const Span> literal,
                                                     bool addSpecial) const {
  return encode(text, addSpecial, Special{true, LiteralText(literal)});
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool addSpecial,
                                               const Special &special) const {
  if (text.size() > maxTextBytes)
    return textTooLong();
  if (const size_t valid = validUtf8Prefix(text); valid != text.size())
    return Status::error("INGOT-E6401", "the text is not UTF-8 at byte " + std::to_string(valid),
                         "convert it to UTF-8");
  std::vector<int32_t> ids;
  auto append = [&](const flatbuffers::Vector<uint32_t> *affix) {
    if (addSpecial && affix)
      ids.insert(ids.end(), affix->begin(), affix->end());
  };
  append(description->prefix_ids());
  std::unique_ptr<Scratch> scratch = takeScratch();
  if (Status status = encodeInto(text, special, *scratch, ids); !status.ok())
    return status;
  giveBack(std::move(scratch));
  append(description->suffix_ids());
  return ids;
}

Status Tokenizer::encodeInto(std::string_view text, const Special &special, Scratch &scratch,
                             std::vector<int32_t> &ids) const {
  using Kind = AddedTokens::Special;
  auto decide = [&](const AddedToken &token, size_t begin) {
    const size_t end = begin + token.pattern.size();
    if (!special.isParsed || special.literal.covers(begin, end))
      return Kind::Text;
    return special.literal.touches(begin, end) ? Kind::Unsure : Kind::Token;
  };
  for (const Segment &segment : rawTokens.find(text, decide)) {
    if (segment.id >= 0) {
      ids.push_back(static_cast<int32_t>(segment.id));
      continue;
    }
    Status status = encodeText(text.substr(segment.begin, segment.end - segment.begin),
                               segment.begin, special, scratch, ids);
    if (!status.ok())
      return status;
  }
  return Status::success();
}

std::vector<Segment> Tokenizer::normalizedSegments(std::string_view normalized,
                                                   std::string_view text, size_t offset,
                                                   const Special &special) const {
  if (!special.isParsed || !special.literal.touches(offset, offset + text.size()))
    return normalizedTokens.find(normalized, special.isParsed);
  std::map<uint32_t, TokenPlaces> places; // by id
  return normalizedTokens.find(normalized, [&](const AddedToken &token, size_t begin) {
    const auto [found, isNew] =
        places.try_emplace(token.id, text, offset, piece(static_cast<int32_t>(token.id)),
                           normalized, token.pattern, special.literal);
    return found->second.isLiteral(begin) ? AddedTokens::Special::Text
                                          : AddedTokens::Special::Token;
  });
}

Status Tokenizer::encodeText(std::string_view text, size_t offset, const Special &special,
                             Scratch &scratch, std::vector<int32_t> &ids) const {
  const bool atStart = offset == 0;
  std::string normalized(text);
  if (Status status = normalizer.normalize(normalized, atStart); !status.ok())
    return status;
  for (const Segment &segment : normalizedSegments(normalized, text, offset, special)) {
    if (segment.id >= 0) {
      ids.push_back(static_cast<int32_t>(segment.id));
      continue;
    }
    Result<Words> words =
        preTokenizer.split(normalized.substr(segment.begin, segment.end - segment.begin),
                           atStart && segment.begin == 0);
    if (!words.ok())
      return words.status();
    const std::string_view all = words->text;
    for (const Span &word : words->spans) {
      if (unigram)
        unigram->encode(all.substr(word.begin, word.end - word.begin), scratch.unigram, ids);
      else
        bpe.encode(all.substr(word.begin, word.end - word.begin), scratch.bpe, ids);
    }
  }
  return Status::success();
}

std::unique_ptr<Tokenizer::Scratch> Tokenizer::takeScratch() const {
  const std::lock_guard lock(pool->mutex);
  if (pool->idle.empty())
    return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> scratch = std::move(pool->idle.back());
  pool->idle.pop_back();
  return scratch;
}

void Tokenizer::giveBack(std::unique_ptr<Scratch> scratch) const {
  // What an unusually long word needed is not kept.
  const size_t entries = scratch->bpe.symbols.capacity() + scratch->bpe.heap.capacity() +
                         scratch->bpe.spelled.capacity() + scratch->unigram.steps.capacity();
  const std::lock_guard lock(pool->mutex);
  if (entries <= maxKeptEntries && pool->idle.size() < maxIdleScratch)
    pool->idle.push_back(std::move(scratch));
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  Detokenizer detokenizer(*this, options);
  std::string text;
  for (int32_t id : ids)
    text += detokenizer.push(id);
  return text += detokenizer.finish();
}

size_t Tokenizer::size() const { return description->piece_flags()->size(); }

bool Tokenizer::hasPiece(int32_t id) const {
  return id >= 0 && isPiece(*description, static_cast<uint32_t>(id));
}

Status Tokenizer::checkIds(std::span<const int32_t> ids) const {
  for (size_t i = 0; i < ids.size(); ++i)
    if (!hasPiece(ids[i]))
      return Status::error("INGOT-E6007",
                           "token id " + std::to_string(ids[i]) + " at position " +
                               std::to_string(i) + " is none of the tokenizer",
                           "give ids of this model's tokenizer");
  return Status::success();
}

bool Tokenizer::isSpecial(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < special.size() && special[static_cast<size_t>(id)];
}

std::string_view Tokenizer::piece(int32_t id) const {
  const auto index = static_cast<uint32_t>(id);
  const uint32_t begin = description->piece_offsets()->Get(index);
  return {reinterpret_cast<const char *>(description->piece_bytes()->data()) + begin,
          description->piece_offsets()->Get(index + 1) - begin};
}

std::optional<std::string> Tokenizer::bytesOf(int32_t id) const {
  for (const DecodeStep &step : decoder) {
    if (step.kind == DecodeStep::ByteLevel)
      return bytesOfSpelling(piece(id));
    if (step.kind == DecodeStep::ByteFallback)
      if (const int byte = byteOfPiece(piece(id)); byte >= 0)
        return std::string(1, static_cast<char>(byte));
  }
  return std::nullopt;
}

std::pair<size_t, size_t> Tokenizer::affixes() const {
  auto count = [](const flatbuffers::Vector<uint32_t> *ids) -> size_t {
    return ids ? ids->size() : 0;
  };
  return {count(description->prefix_ids()), count(description->suffix_ids())};
}

std::optional<int32_t> Tokenizer::addedToken(std::string_view content) const {
  if (description->added_tokens())
    for (const schema::AddedToken *token : *description->added_tokens())
      if (token->content()->string_view() == content)
        return static_cast<int32_t>(token->id());
  return std::nullopt;
}

int32_t Tokenizer::unknownId() const { return description->unk_id(); }
int32_t Tokenizer::bosId() const { return description->bos_id(); }
int32_t Tokenizer::eosId() const { return description->eos_id(); }
int32_t Tokenizer::padId() const { return description->pad_id(); }
bool Tokenizer::cleansUpSpaces() const { return description->clean_up_spaces(); }

bool Tokenizer::addsBos() const {
  const auto *ids = description->prefix_ids();
  return ids && ids->size() > 0 && static_cast<int32_t>(ids->Get(0)) == bosId();
}

bool Tokenizer::addsEos() const {
  const auto *ids = description->suffix_ids();
  return ids && ids->size() > 0 && static_cast<int32_t>(ids->Get(ids->size() - 1)) == eosId();
}

std::vector<std::string_view> Tokenizer::chatTemplateNames() const {
  std::vector<std::string_view> names;
  if (description->chat_templates())
    for (const schema::ChatTemplate *chat : *description->chat_templates())
      names.push_back(chat->name()->string_view());
  return names;
}

std::optional<std::string_view> Tokenizer::chatTemplate(std::string_view name) const {
  if (description->chat_templates())
    for (const schema::ChatTemplate *chat : *description->chat_templates())
      if (chat->name()->string_view() == name)
        return chat->text()->string_view();
  return std::nullopt;
}

} // namespace ingot::runtime
