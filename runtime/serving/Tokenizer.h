// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as the tokenizer section of an engine says.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/serving/AddedTokens.h"
#include "runtime/serving/Bpe.h"
#include "runtime/serving/Detokenizer.h"
#include "runtime/serving/LiteralText.h"
#include "runtime/serving/Normalizer.h"
#include "runtime/serving/PreTokenizer.h"
#include "runtime/serving/Unigram.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Immutable once loaded, so threads may share it. Movable.
class Tokenizer {
public:
  /// Loads the FlatBuffer of runtime/schema/Tokenizer.fbs, checking all of it: structure, ids,
  /// offsets, UTF-8, regexes. `bytes` must outlive the tokenizer and be aligned to 8.
  /// Errors: INGOT-E5401 to E5404.
  static Result<Tokenizer> load(std::span<const std::byte> bytes);

  /// The ids of `text`. `addSpecial` puts the checkpoint's prefix (usually the beginning-of-text
  /// id) before them and its suffix behind; leave it out after a chat template. `parseSpecial`
  /// recognises special tokens spelled out in `text`; leave it out for text of strangers.
  /// Errors: INGOT-E6401 (not UTF-8), INGOT-E6402 to E6405 (limits).
  Result<std::vector<int32_t>> encode(std::string_view text, bool addSpecial,
                                      bool parseSpecial) const;

  /// The ids of a prompt in which the parts `literal` (bytes, in order, apart from each other) are
  /// the words of strangers: special tokens are recognised only where no byte of them is in such a
  /// part. The text is otherwise encoded as one. Errors: as above.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text, std::span<const Span> literal,
                                            bool addSpecial = false) const;

  /// The text of `ids`, always valid UTF-8. Ids without a piece add nothing.
  std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;

  /// One more than the largest id with a piece.
  size_t size() const;
  bool hasPiece(int32_t id) const;
  /// INGOT-E6007 names the first id without a piece, which a text of all would leave out.
  Status checkIds(std::span<const int32_t> ids) const;
  bool isSpecial(int32_t id) const;

  /// The piece as the vocabulary spells it; `id` must have one.
  std::string_view piece(int32_t id) const;

  /// The bytes that a piece spells by a step of the decoder, where it does: those of a character,
  /// or of a part of one. `id` must have a piece.
  std::optional<std::string> bytesOf(int32_t id) const;

  /// How many ids encode(addSpecial) puts before those of the text, and behind them.
  std::pair<size_t, size_t> affixes() const;

  /// The id of the added token spelled `content`, if there is one.
  std::optional<int32_t> addedToken(std::string_view content) const;

  // Special ids, or -1.
  int32_t unknownId() const;
  int32_t bosId() const;
  int32_t eosId() const;
  int32_t padId() const;

  /// Whether encode(addSpecial) puts bosId() first or eosId() last.
  bool addsBos() const;
  bool addsEos() const;

  /// Whether the checkpoint asks for clean_up_tokenization_spaces; see DecodeOptions.
  bool cleansUpSpaces() const;

  /// The text of a chat template ("default", "tool_use", ...), if there is one.
  std::optional<std::string_view> chatTemplate(std::string_view name = "default") const;

  /// The names of all chat templates, in the checkpoint's order.
  std::vector<std::string_view> chatTemplateNames() const;

  /// The steps of decoding, in order; for Detokenizer.
  const std::vector<DecodeStep> &decodeSteps() const { return decoder; }

private:
  struct Scratch {
    Bpe::Scratch bpe;
    Unigram::Scratch unigram;
  };

  /// Scratch memory that no call uses, so that what calls remember of words serves the next ones.
  struct Pool {
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> idle;
  };

  Status loadModel();
  Status loadAddedTokens();
  Status loadDecoder();
  /// What is asked of one call: whether special tokens are recognised, and where not.
  struct Special {
    bool isParsed;
    LiteralText literal;
  };
  Result<std::vector<int32_t>> encode(std::string_view text, bool addSpecial,
                                      const Special &special) const;
  Status encodeInto(std::string_view text, const Special &special, Scratch &scratch,
                    std::vector<int32_t> &ids) const;
  /// `text` begins `offset` bytes behind the start of all.
  Status encodeText(std::string_view text, size_t offset, const Special &special, Scratch &scratch,
                    std::vector<int32_t> &ids) const;
  std::vector<Segment> normalizedSegments(std::string_view normalized, std::string_view text,
                                          size_t offset, const Special &special) const;
  std::unique_ptr<Scratch> takeScratch() const;
  void giveBack(std::unique_ptr<Scratch> scratch) const;

  const schema::Tokenizer *description = nullptr;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  Bpe bpe;
  std::optional<Unigram> unigram; // takes the place of `bpe`
  AddedTokens rawTokens;
  AddedTokens normalizedTokens;
  std::vector<bool> special; // by id
  std::vector<DecodeStep> decoder;
  std::unique_ptr<Pool> pool = std::make_unique<Pool>();
};

} // namespace ingot::runtime
