// SPDX-License-Identifier: Apache-2.0
// The steps of decoding, of one piece at a time.
#include "runtime/serving/TokenBytes.h"

#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/Tokenizer.h"

namespace ingot::runtime {

static void replaceAll(std::string &text, std::string_view pattern, std::string_view content) {
  for (size_t at = text.find(pattern); at != text.npos;
       at = text.find(pattern, at + content.size()))
    text.replace(at, pattern.size(), content);
}

/// Of a piece that is a text of its own.
static void strip(std::string &text, const DecodeStep &step) {
  for (uint32_t i = 0; i < step.start && text.starts_with(step.pattern); ++i)
    text.erase(0, step.pattern.size());
  for (uint32_t i = 0; i < step.stop && text.ends_with(step.pattern); ++i)
    text.resize(text.size() - step.pattern.size());
}

static std::string bytesOfPiece(const Tokenizer &tokenizer, int32_t id) {
  std::string text(tokenizer.piece(id));
  bool fused = false;
  for (const DecodeStep &step : tokenizer.decodeSteps())
    switch (step.kind) {
    case DecodeStep::ByteLevel:
      text = bytesOfSpelling(text);
      fused = true;
      break;
    case DecodeStep::ByteFallback:
      if (const int byte = byteOfPiece(text); byte >= 0)
        text.assign(1, static_cast<char>(byte));
      break;
    case DecodeStep::Replace:
      replaceAll(text, step.pattern, step.content);
      break;
    case DecodeStep::Metaspace:
      replaceAll(text, step.pattern, " ");
      break;
    case DecodeStep::Strip: // of a fused text the prompt has the beginning
      if (!fused)
        strip(text, step);
      break;
    case DecodeStep::Fuse:
      fused = true;
      break;
    }
  return text;
}

/// The ids below `count` of special tokens.
static std::vector<int32_t> specialTokens(const Tokenizer &tokenizer, size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count && i < tokenizer.size(); ++i)
    if (const auto id = static_cast<int32_t>(i); tokenizer.hasPiece(id) && tokenizer.isSpecial(id))
      ids.push_back(id);
  return ids;
}

std::shared_ptr<const guided::SpelledTokens> spelledTokens(const Tokenizer &tokenizer,
                                                           size_t vocabulary) {
  std::vector<std::string> texts = tokenBytes(tokenizer, vocabulary);
  std::vector<bool> special(vocabulary);
  for (const int32_t id : specialTokens(tokenizer, vocabulary)) {
    texts[size_t(id)] = tokenizer.piece(id);
    special[size_t(id)] = true;
  }
  return std::make_shared<const guided::SpelledTokens>(std::move(texts), special);
}

std::vector<std::string> guidedBytes(const Tokenizer &tokenizer, size_t vocabulary) {
  std::vector<std::string> bytes = tokenBytes(tokenizer, vocabulary);
  // No text has these two; alone they are bytes that some vocabularies fall back to.
  for (std::string &one : bytes)
    if (one.find_first_of("\xFE\xFF") != std::string::npos)
      one.clear();
  for (const int32_t id : specialTokens(tokenizer, vocabulary))
    bytes[size_t(id)] = guided::specialBytes(tokenizer.piece(id));
  return bytes;
}

guided::SpecialNames specialNames(const Tokenizer &tokenizer,
                                  std::shared_ptr<const guided::TokenVocabulary> vocabulary) {
  std::vector<std::string> names;
  for (const int32_t id : specialTokens(tokenizer, tokenizer.size()))
    names.emplace_back(tokenizer.piece(id));
  return guided::SpecialNames(std::move(names), std::move(vocabulary));
}

std::vector<std::string> tokenBytes(const Tokenizer &tokenizer, size_t vocabulary) {
  std::vector<std::string> bytes(vocabulary);
  for (size_t i = 0; i < vocabulary && i < tokenizer.size(); ++i)
    if (const auto id = static_cast<int32_t>(i); tokenizer.hasPiece(id) && !tokenizer.isSpecial(id))
      bytes[i] = bytesOfPiece(tokenizer, id);
  return bytes;
}

} // namespace ingot::runtime
