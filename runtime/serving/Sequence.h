// SPDX-License-Identifier: Apache-2.0
// One request on its way through the engine: its tokens, its place in the KV cache, its text.
#pragma once

#include "runtime/serving/AnswerConstraint.h"
#include "runtime/serving/BlockHash.h"
#include "runtime/serving/SamplingParameters.h"
#include "runtime/serving/StopText.h"
#include "runtime/serving/TokenLogprob.h"
#include "runtime/serving/Tokenizer.h"
#include "runtime/serving/pictures/EncodedPicture.h"
#include "runtime/serving/pictures/SequencePictures.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ingot::runtime {

/// The blocks of one sequence in one KV group.
struct GroupBlocks {
  std::vector<int32_t> blocks;  ///< of all positions; those before `live` are no longer held
  int64_t live = 0;             ///< the first that is held
  int64_t published = 0;        ///< how many others can find, or would find elsewhere
  std::vector<BlockHash> names; ///< of the content of as many full blocks as were looked at
};

/// Stands for a token that is drawn on the device and not yet read.
inline constexpr int32_t unknownToken = -1;

struct Sequence {
  uint64_t id = 0;    ///< of the request; shared by its choices
  int32_t choice = 0; ///< which of the request's answers this is
  int32_t priority = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::chrono::steady_clock::time_point submitted;
  std::chrono::steady_clock::duration queued{}; ///< until the first step that computed it
  bool held = false;                            ///< computes nothing until it is resumed
  uint64_t arrival = 0;                         ///< counts up; the scheduler's
  bool leaving = false;  ///< computes nothing until its last token is known, then is preempted
  bool admitted = false; ///< has run before, if it waits now
  /// The choice of the same request that computes the prompt for this one; null when it has to.
  Sequence *leader = nullptr;
  std::vector<int32_t> tokens; ///< the prompt, then what was generated
  /// Of each token, for engines that read them in place of tokens; owned by the caller.
  std::span<const float> embeddings;
  std::shared_ptr<const SequencePictures> pictures; ///< null: none
  /// Of each picture what its tokens stand for, from its encoding until the prompt is computed.
  std::vector<std::shared_ptr<const EncodedPicture>> encoded;
  int64_t promptTokens = 0;
  int64_t cachedTokens = 0;  ///< of the prompt, that the cache had when it was first admitted
  int64_t computed = 0;      ///< positions whose K and V are in the cache
  int64_t maxNewTokens = 0;  ///< at least 1; already cut to the context
  bool cutByContext = false; ///< fewer than asked for
  SamplingParameters sampling;
  std::vector<PromptLogprob> promptLogprobs; ///< where asked for: one for each token of the prompt
  std::vector<int32_t> endTokens; ///< any of these ends it: the model's and the request's

  int64_t slot = -1;               ///< row of the State buffers; -1 while waiting
  std::vector<GroupBlocks> blocks; ///< of each KV group
  BlockHash root = {};             ///< what the names of its blocks begin with
  bool cachePrompt = true;         ///< take what the cache already holds of the tokens
  bool needsState = false;         ///< admitted, but its state rows are not set up yet

  /// The row of the last draw that gives the last token, while the host does not know it.
  int64_t drawRow = -1;

  /// The form that its answer has, and the limit of its thoughts, while there is any.
  std::optional<AnswerConstraint> constraint;

  std::optional<Detokenizer> detokenizer;
  StopText stopText;
  int64_t characters = 0;  ///< that the detokenizer has given
  bool promptOnly = false; ///< ends where its first token would come

  /// Whether the last token has been drawn on the device only.
  bool unknown() const { return tokens.back() == unknownToken; }
  /// Whether its next token can be drawn only when the host knows the last one.
  bool waitsForToken() const {
    return unknown() && (sampling.masksByTokens() || (constraint && constraint->slack() < 2));
  }
  /// Whether its constraint may refuse its next token.
  bool isMasked() const { return constraint && constraint->slack() == 0; }
  int64_t pending() const { return int64_t(tokens.size()) - computed; }
  /// The first picture of which tokens are to be computed, and what they stand for is not known;
  /// null: there is none.
  const PictureRun *unencoded() const;
  /// How many of the next `wanted` tokens can be computed together: up to a picture that is not
  /// encoded, and only all of one whose tokens see ahead.
  int64_t chunk(int64_t wanted) const;
  /// The fewest that can be.
  int64_t leastChunk() const;
  /// Whether each token of its prompt needs a row of logits.
  bool scoresPrompt() const { return !promptLogprobs.empty() && generated() == 0; }
  int64_t generated() const { return int64_t(tokens.size()) - promptTokens; }
  /// Positions that must find room in the KV cache; the last token drawn is never computed.
  int64_t positions() const { return promptTokens + maxNewTokens - 1; }
};

} // namespace ingot::runtime
