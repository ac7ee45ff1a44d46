// SPDX-License-Identifier: Apache-2.0
// The tokens that may be drawn next, as a row of the program "sample"'s input "allow_mask".
#pragma once

#include "runtime/serving/Sequence.h"

#include <span>

namespace ingot::runtime {

/// A bit for each token of the vocabulary, in words that the caller owns. They say nothing until a
/// token is left out: then they are filled.
class TokenMask {
public:
  explicit TokenMask(std::span<uint32_t> words) : words(words) {}

  /// Leaves out what the request of `sequence` excludes after its tokens, all of which must be
  /// known where it masksByTokens().
  void applyTo(Sequence &sequence);
  /// Leaves out all but these.
  void allowOnly(std::span<const int32_t> tokens);
  /// Leaves out all that have no bit in `others`, words like its own.
  void excludeOutside(std::span<const uint32_t> others);
  void exclude(int32_t token);
  /// Leaves out what would complete a run of `length` tokens that occurs in `tokens` already.
  void excludeRepeats(std::span<const int32_t> tokens, size_t length);

  /// Whether a token was left out.
  bool restricts() const { return filled; }
  /// Whether all were.
  bool leavesNone(int64_t vocabulary) const;

private:
  std::span<uint32_t> words;
  bool filled = false;
};

} // namespace ingot::runtime
