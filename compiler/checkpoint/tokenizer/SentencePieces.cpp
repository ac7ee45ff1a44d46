// SPDX-License-Identifier: Apache-2.0
// From sentencepiece's vocabulary and settings to the steps of a TokenizerSpec.
#include "compiler/checkpoint/tokenizer/SentencePieces.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace ingot::checkpoint {

static constexpr std::string_view spaceMark = "\u2581";

static Error damaged(std::string what, const std::string &where) {
  return {"INGOT-E1413", std::move(what), where, "copy or export the file again"};
}

/// The scores of a Unigram model. Only normal pieces are made from text, bytes from bytes.
static Outcome scorePieces(const std::vector<bool> &normal, const std::string &where,
                           TokenizerSpec &spec) {
  float worst = 0;
  for (size_t id = 0; id < spec.pieces.size(); ++id) {
    spec.pieces[id].model = normal[id];
    spec.pieces[id].inert = !normal[id] && !spec.pieces[id].added;
    if (normal[id])
      worst = std::min(worst, spec.scores[id]);
  }
  if (std::find(normal.begin(), normal.end(), true) == normal.end())
    return damaged("a Unigram vocabulary without a normal piece", where);
  spec.unigramScores.assign(spec.scores.begin(), spec.scores.end());
  spec.unknownScore = worst - unknownPenalty;
  return {};
}

/// INGOT-E1409: sentencepiece's BPE would merge an unused piece out of others and take it apart
/// again.
static Outcome checkUnused(std::span<const ScoredPiece> pieces, const std::vector<bool> &mergeable,
                           const std::string &where) {
  std::unordered_set<std::string_view> texts;
  for (size_t id = 0; id < pieces.size(); ++id)
    if (mergeable[id])
      texts.insert(pieces[id].text);
  for (const ScoredPiece &piece : pieces) {
    const std::string_view text = piece.text;
    for (size_t cut = 1; piece.type == Unused && cut < text.size(); ++cut)
      if (texts.contains(text.substr(0, cut)) && texts.contains(text.substr(cut)))
        return Error{"INGOT-E1409",
                     message("the unused piece ", inQuotes(text),
                             ", which merges from others, is not supported"),
                     where, "use a checkpoint whose tokenizer does without it"};
  }
  return {};
}

Outcome addScoredPieces(std::span<const ScoredPiece> pieces, PieceModel model,
                        const std::string &where, TokenizerSpec &spec) {
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
  if (model == PieceModel::Unigram)
    return scorePieces(mergeable, where, spec);
  if (Outcome done = checkUnused(pieces, mergeable, where); !done)
    return done;
  return mergeByScores(spec, mergeable, where);
}

void addSentencePieceSteps(const SentencePieceSettings &settings, TokenizerSpec &spec) {
  using Step = TokenizerNormalizerStep;
  const std::string space(settings.escapeSpaces ? spaceMark : " ");
  if (settings.removeExtraSpaces) {
    spec.normalizer.push_back({.kind = Step::ReplaceRegex, .pattern = " {2,}", .content = " "});
    spec.normalizer.push_back({.kind = Step::ReplaceRegex, .pattern = "\\A | \\z"});
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
