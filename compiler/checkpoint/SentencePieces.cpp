// SPDX-License-Identifier: Apache-2.0
// From sentencepiece's vocabulary and settings to the steps of a TokenizerSpec.
#include "compiler/checkpoint/SentencePieces.h"

#include <cmath>

namespace ingot::checkpoint {

static constexpr std::string_view spaceMark = "\u2581";

static Error damaged(std::string what, const std::string &where) {
  return {"INGOT-E1413", std::move(what), where, "copy or export the file again"};
}

Outcome addScoredPieces(std::span<const ScoredPiece> pieces, const std::string &where,
                        TokenizerSpec &spec) {
  if (pieces.empty() || pieces.size() > maxTokenId)
    return damaged(message("a vocabulary of ", pieces.size(), " pieces"), where);
  std::vector<bool> mergeable;
  for (const auto &[text, score, type] : pieces) {
    const auto id = static_cast<uint32_t>(spec.pieces.size());
    if (text.empty() || text.size() > maxAddedTokenBytes || !isUtf8(text) ||
        !std::isfinite(score) || type < Normal || type > Byte)
      return damaged(message("piece ", id, " is empty, longer than ", maxAddedTokenBytes,
                             " bytes, not UTF-8, or has no valid score or type"),
                     where);
    const bool added = type == Unknown || type == Control || type == UserDefined;
    spec.pieces.push_back({text, type != Control, added});
    spec.scores.push_back(score);
    mergeable.push_back(type == Normal);
    if (!added)
      continue;
    TokenizerAddedToken token;
    token.id = id;
    token.content = text;
    token.special = type != UserDefined;
    token.normalized = !token.special;
    if (token.normalized)
      token.pattern = text;
    spec.addedTokens.push_back(std::move(token));
  }
  return mergeByScores(spec, mergeable, where);
}

void addSentencePieceSteps(const SentencePieceSettings &settings, TokenizerSpec &spec) {
  using Step = TokenizerNormalizerStep;
  const std::string space(settings.escapeSpaces ? spaceMark : " ");
  if (settings.removeExtraSpaces) {
    spec.normalizer.push_back({.kind = Step::Strip, .left = true, .right = true});
    spec.normalizer.push_back({.kind = Step::ReplaceRegex, .pattern = " {2,}", .content = " "});
  }
  if (settings.addPrefix)
    spec.normalizer.push_back({.kind = Step::Prepend, .content = space});
  if (settings.escapeSpaces)
    spec.normalizer.push_back({.kind = Step::ReplaceText, .pattern = " ", .content = space});

  if (settings.escapeSpaces)
    spec.decoder.push_back(
        {.kind = TokenizerDecoderStep::Replace, .pattern = space, .content = " "});
  spec.decoder.push_back({.kind = TokenizerDecoderStep::ByteFallback});
  spec.decoder.push_back({.kind = TokenizerDecoderStep::Fuse});
  if (settings.addPrefix)
    spec.decoder.push_back({.kind = TokenizerDecoderStep::Strip, .pattern = " ", .start = 1});
}

} // namespace ingot::checkpoint
