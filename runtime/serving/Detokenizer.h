// SPDX-License-Identifier: Apache-2.0
// Turns ids into text one by one, for streaming: what it returns is always complete UTF-8, and the
// parts together are exactly what Tokenizer::decode gives for all ids at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

class Tokenizer;

struct DecodeOptions {
  bool skipSpecial = true;        ///< leave out special tokens
  bool cleanUpSpaces = false;     ///< drop the space before ". ? ! ," and English contractions
  std::vector<int32_t> kept = {}; ///< special tokens that are not left out
};

/// One step of decoding, as the engine file describes it.
struct DecodeStep {
  enum Kind : uint8_t { ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace } kind;
  std::string pattern;
  std::string content;
  uint32_t start;
  uint32_t stop;
  bool keepFirst; ///< Metaspace: the first piece keeps its leading replacement as a space
};

/// Not thread-safe; one per sequence. The tokenizer must outlive it.
///
/// One that continues a prompt must be told it by `follow`: some tokenizers strip a space at the
/// very start of the text only.
///
/// Where byte pieces do not spell UTF-8, every byte that is part of no character becomes U+FFFD.
class Detokenizer {
public:
  explicit Detokenizer(const Tokenizer &tokenizer, DecodeOptions options = {});

  /// Takes the ids before the first one to be pushed. They give no text, nor does what is held back
  /// of them; a character that begins in them and ends behind them belongs to what comes behind.
  void follow(std::span<const int32_t> prompt);

  /// The text that became certain with `id`; empty if none did. Ids without a piece add nothing.
  std::string push(int32_t id);

  /// How many characters of ids before the one that was pushed last had not been given until then,
  /// and stand before its own: what was held back, and bytes that turned out to be part of no
  /// character.
  size_t earlier() const { return earlierCharacters; }

  /// The text still held back; after it the detokenizer starts anew.
  std::string finish();

private:
  /// What one step remembers between pieces.
  struct State {
    const DecodeStep *step;
    bool fused;            // pieces are fragments of one text, not units
    bool first = true;     // no piece has come yet
    uint32_t stripped = 0; // Strip: characters dropped at the start
    std::string held{};    // bytes or text that cannot be passed on yet
    size_t followed = 0;   // bytes at the start of `held` that the prompt left
  };

  void feed(size_t stage, std::string_view text);
  void flush(size_t stage);
  void feedByteLevel(size_t stage, std::string_view piece);
  void feedByteFallback(size_t stage, std::string_view piece);
  void feedStrip(size_t stage, std::string_view text);
  void feedReplace(size_t stage, std::string_view text);
  void feedMetaspace(size_t stage, std::string_view piece);
  void takeBytes(size_t stage, std::string_view bytes, bool everyByte);

  const Tokenizer *tokenizer;
  DecodeOptions options;
  std::vector<State> stages;
  std::string out;
  size_t earlierCharacters = 0;
};

} // namespace ingot::runtime
