// SPDX-License-Identifier: Apache-2.0
// What a sentencepiece vocabulary of type BPE means for a tokenizer, whichever file it came in.
#pragma once

#include "compiler/checkpoint/TokenizerVocabulary.h"

#include <span>

namespace ingot::checkpoint {

/// Types of pieces, as sentencepiece and GGUF number them.
enum PieceType : int { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct ScoredPiece {
  std::string text;
  float score = 0;
  int type = Normal; ///< PieceType, as read
};

/// Fills an empty `spec` with `pieces`, in the order of their ids, and with the merges that their
/// scores stand for. Control and unknown pieces become special added tokens; user-defined ones are
/// cut from the normalized text and never merge. Errors: INGOT-E1406 when nothing merges,
/// INGOT-E1413 for a bad number of pieces, and for text, score or type of one.
Outcome addScoredPieces(std::span<const ScoredPiece> pieces, const std::string &where,
                        TokenizerSpec &spec);

struct SentencePieceSettings {
  bool addPrefix = true;          ///< a space before the text
  bool removeExtraSpaces = false; ///< at both ends, and all but one inside
  bool escapeSpaces = true;       ///< spaces are U+2581
};

/// Appends the normalizer and decoder steps.
void addSentencePieceSteps(const SentencePieceSettings &settings, TokenizerSpec &spec);

} // namespace ingot::checkpoint
