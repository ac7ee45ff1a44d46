// SPDX-License-Identifier: Apache-2.0
// Building blocks shared by the tokenizer readers: pieces by id and text, merges from scores.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

#include <optional>
#include <unordered_map>

namespace ingot::checkpoint {

/// Ids, and so the size of what is kept by id, stay below this.
constexpr uint64_t maxTokenId = uint64_t{1} << 22;

/// Added tokens and normal sentencepiece pieces are at most this long.
constexpr size_t maxAddedTokenBytes = 256;

/// Pieces of a BPE vocabulary are at most this long.
constexpr size_t maxPieceBytes = 64 * 1024;

/// How much worse an unknown character is than the worst piece of a Unigram model.
constexpr float unknownPenalty = 10;

/// Whether `text` is UTF-8 through and through.
bool isUtf8(std::string_view text);

/// Whether `bytes` have the outer form of a sentencepiece precompiled_charsmap, at most 4 MiB: the
/// size of a trie, the trie, and replacements in UTF-8, each ended by a zero byte. The trie itself
/// is checked where it is walked.
bool isCharacterMap(std::string_view bytes);

/// Adds to the pieces of a TokenizerSpec and finds them by text.
class TokenizerVocabulary {
public:
  /// `spec` must outlive this, and only this may add pieces or added tokens to it meanwhile.
  explicit TokenizerVocabulary(TokenizerSpec &spec);

  /// Adds a piece of the BPE vocabulary; an empty text adds nothing. `where` is for messages.
  /// Errors: INGOT-E1404 (id out of range, or an id or a text used twice).
  Outcome addPiece(uint64_t id, const std::string &text, const std::string &where);

  /// Adds `token`, or replaces the properties of the added token with the same content.
  /// Errors: INGOT-E1404 (id out of range or of another piece), INGOT-E1405 (bad text).
  Outcome addToken(const TokenizerAddedToken &token, const std::string &where);

  /// The id of the piece spelled `text`.
  std::optional<uint32_t> find(const std::string &text) const;

  /// Whether `id` has a piece.
  bool has(uint32_t id) const;

private:
  TokenizerPiece &pieceAt(uint32_t id);

  TokenizerSpec &spec;
  std::unordered_map<std::string, uint32_t> ids;
  std::unordered_map<uint32_t, size_t> addedById; // index into spec.addedTokens
};

/// Fills `merges` and `mergeRanks` from `scores` by sentencepiece's rule: two pieces merge when
/// their concatenation is a piece, the highest score first. `mergeable[id]` says which ids take
/// part. Error: INGOT-E1406 when nothing merges.
Outcome mergeByScores(TokenizerSpec &spec, const std::vector<bool> &mergeable,
                      const std::string &where);

/// Appends the merges in `list`, "left right" or ["left", "right"] each, to `spec`; of two merges
/// of one pair the last counts. Errors: INGOT-E1406 (none), INGOT-E1407 (malformed, or a side or
/// the result is no piece), and wrong types.
Outcome readMerges(const Json &list, const TokenizerVocabulary &vocabulary, TokenizerSpec &spec);

/// Fills `token`, except its id, from the object behind `fields`, which remembers the first error.
void readAddedToken(JsonFields &fields, TokenizerAddedToken &token);

} // namespace ingot::checkpoint
