// SPDX-License-Identifier: Apache-2.0
// The constraint of an answer before which a model may think, and which stands between markers.
#pragma once

#include "runtime/guided/TokenConstraint.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// The texts that set apart what a form does not bind. Thoughts come before the answer, and are
/// free; the answer's own text begins behind any of the frames.
struct AnswerMarkers {
  std::string open = {}, close = {}; ///< around thoughts; both empty: there are none
  bool isOpen = false;               ///< the prompt has begun to think
  bool mayReopen = false;            ///< a thought may follow another
  /// Tokens of all thoughts of an answer, without their closing markers; then `close` has to come.
  uint64_t mostThought = unlimited;
  std::vector<std::string> frames = {};
  std::vector<std::string> calls = {}; ///< what follows one of these is no answer, and free
  /// With this end of the prompt a frame may begin.
  std::string promptEnd = {};

  static constexpr uint64_t unlimited = UINT64_MAX;
  bool empty() const { return open.empty() && frames.empty() && calls.empty(); }
  bool limitsThoughts() const { return !open.empty() && mostThought != unlimited; }
};

/// A model's tokens by what they spell, special ones with their names. Threads may share it.
class SpelledTokens {
public:
  /// `texts` by id, empty for ids without any; `special`: ids that stand for no text.
  SpelledTokens(std::vector<std::string> texts, const std::vector<bool> &special);

  size_t size() const { return texts.size(); }
  std::string_view text(uint32_t token) const { return texts[token]; }
  /// The tokens that may come next of a text that is spelled: the longest special one that it
  /// begins with, else the one that it is, else all others that it begins with.
  std::vector<uint32_t> next(std::string_view text) const;
  /// The tokens within which `marker` may end, with more behind it.
  std::shared_ptr<const std::vector<uint32_t>> passing(const std::string &marker) const;
  /// How many of the last tokens of `before` lie in the last `bytes` of what they spell.
  uint64_t within(std::span<const int32_t> before, size_t bytes) const;

private:
  std::vector<std::string> texts;
  std::map<std::string_view, std::vector<uint32_t>> plain, special;
  mutable std::mutex guard;
  mutable std::map<std::string, std::shared_ptr<const std::vector<uint32_t>>> passed;
};

/// Thoughts do not end the answer: a stop token comes only where the form, or a call, lets it.
/// A marker ends with a token, so that the answer begins with one.
class MarkedConstraint final : public TokenConstraint {
public:
  /// `answer` has accepted nothing yet. `stopTokens` are those that it was made with.
  MarkedConstraint(std::unique_ptr<TokenConstraint> answer, AnswerMarkers markers,
                   std::shared_ptr<const SpelledTokens> tokens, std::vector<int32_t> stopTokens);

  bool accept(int32_t token) override;
  void rollback(size_t count) override;
  size_t length() const override { return accepted.size(); }
  Status mask(std::span<uint32_t> words) override;
  bool mayEnd() const override;
  bool mustEnd() const override;
  bool insists() const override;

private:
  enum class Kind : uint8_t { Thought, Call, Frame, Lines };
  struct Marker {
    std::string text;
    Kind kind;
  };
  /// A marker that is under way.
  struct Partial {
    uint32_t marker;
    uint32_t bytes; ///< that have come
  };
  enum class Phase : uint8_t { Before, Thinking, Answer, Free, Ended };
  struct Place {
    Phase phase = Phase::Before;
    std::vector<Partial> partials = {}; ///< Before: what may go on, beside the answer
    uint32_t matched = 0;               ///< Thinking: bytes of the closing marker
    uint32_t seen = 0;                  ///< a bit for each frame since the last thought
    bool inAnswer = true;               ///< Before, Answer: `answer` has all tokens from `begin` on
    size_t begin = 0;
    uint64_t thought = 0; ///< tokens of thoughts
  };

  void addMarker(std::string text, Kind kind);
  bool stops(int32_t token) const;
  std::string_view rest(const Partial &partial) const;
  bool mayFollow(const Partial &partial, uint32_t token) const;
  uint32_t closing(uint32_t matched, char byte) const;
  std::vector<uint32_t> forced(const Place &place) const;
  bool think(Place &place, std::string_view text) const;
  bool mayThink(const Place &place, int32_t token) const;
  bool goOn(Place &place, int32_t token);
  void pass(Place &place, Kind kind, uint32_t marker) const;
  void startMarkers(Place &place, bool behindThought) const;
  void bringBack(const Place &place);

  std::unique_ptr<TokenConstraint> answer;
  std::vector<Marker> markers;
  std::string close;
  bool mayReopen;
  uint64_t mostThought;
  std::vector<uint32_t> failure; ///< of `close`: Knuth, Morris, Pratt (1977)
  std::shared_ptr<const SpelledTokens> tokens;
  std::shared_ptr<const std::vector<uint32_t>> passing;
  std::vector<int32_t> stopTokens;
  std::vector<int32_t> accepted;
  std::vector<Place> places; ///< before each token, and now
};

} // namespace ingot::runtime::guided
