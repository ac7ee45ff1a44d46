// SPDX-License-Identifier: Apache-2.0
// What a sentencepiece vocabulary means for a tokenizer, whichever file it came in.
#pragma once

#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <span>

namespace ingot::checkpoint {

/// How pieces are made from text, as sentencepiece numbers it.
enum class PieceModel : int { Unigram = 1, Bpe };

/// Types of pieces, as sentencepiece and GGUF number them.
enum PieceType : int { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct ScoredPiece {
  std::string text;
  float score = 0;
  int type = Normal; ///< PieceType, as read
};

/// Fills an empty `spec` with `pieces`, in the order of their ids, and with their scores or, for
/// BPE, the merges that these stand for. Control and unknown pieces become special added tokens;
/// user-defined ones are cut from the normalized text and never merge. Errors: INGOT-E1406 when
/// nothing merges, INGOT-E1409 for an unused piece of BPE that merges from others, INGOT-E1413 for
/// a bad number of pieces, for text, score or type of one, and for Unigram without a normal piece.
Outcome addScoredPieces(std::span<const ScoredPiece> pieces, PieceModel model,
                        const std::string &where, TokenizerSpec &spec);

struct SentencePieceSettings {
  bool addPrefix = true;          ///< a space before the text
  bool removeExtraSpaces = false; ///< at both ends, and all but one inside
  bool escapeSpaces = true;       ///< spaces are U+2581
};

/// Appends the normalizer and decoder steps.
void addSentencePieceSteps(const SentencePieceSettings &settings, TokenizerSpec &spec);

} // namespace ingot::checkpoint
