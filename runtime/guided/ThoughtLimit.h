// SPDX-License-Identifier: Apache-2.0
// The constraint of an answer that is free, but for how long its thoughts are.
#pragma once

#include "runtime/guided/MarkedConstraint.h"

namespace ingot::runtime::guided {

/// Follows thoughts byte by byte, wherever in tokens their markers lie. It refuses nothing until
/// one has come to its limit: then the rest of the closing marker has to come. Once a text has
/// begun before which alone models of the family think, it has no say any more.
class ThoughtLimit final : public TokenConstraint {
public:
  /// `markers` limit thoughts. Of the others `calls` count: they end thoughts too.
  ThoughtLimit(AnswerMarkers markers, std::shared_ptr<const SpelledTokens> tokens);

  bool accept(int32_t token) override;
  void rollback(size_t count) override;
  size_t length() const override { return accepted.size(); }
  Status mask(std::span<uint32_t> words) override;
  bool mayEnd() const override { return forced(places.back()).empty(); }
  bool mustEnd() const override { return false; }
  uint64_t slack() const override;
  bool insists() const override { return !mayEnd(); }

private:
  /// A marker that is looked for in a text (Knuth, Morris, Pratt 1977).
  struct Sought {
    explicit Sought(std::string text);
    uint32_t next(uint32_t matched, char byte) const;
    bool isWhole(uint32_t matched) const { return matched == text.size(); }

    std::string text;
    std::vector<uint32_t> failure;
  };
  enum class Phase : uint8_t { Outside, Thinking, Done };
  struct Place {
    Phase phase = Phase::Outside;
    std::vector<uint32_t> matched = {0}; ///< bytes of each marker that is looked for
    uint64_t thought = 0;                ///< tokens of thoughts
  };

  std::vector<uint32_t> forced(const Place &place) const;
  bool isRefused(const Place &place, int32_t token) const;
  void look(Place &place, char byte) const;
  void follow(Place &place, std::string_view text) const;
  void end(Place &place, bool byCall) const;

  Sought open;
  std::vector<Sought> ends; ///< of thoughts; the first is the closing marker
  bool mayReopen;
  uint64_t most;
  std::shared_ptr<const SpelledTokens> tokens;
  std::vector<uint32_t> opening; ///< the tokens that begin a thought at once
  std::vector<int32_t> accepted;
  std::vector<Place> places; ///< before each token, and now
};

} // namespace ingot::runtime::guided
