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

  /// Leaves out what the request of `sequence` excludes after its tokens, of which the last must be
  /// known where `masksByTokens`.
  void applyTo(const Sequence &sequence);
  /// Leaves out all but these.
  void allowOnly(std::span<const int32_t> tokens);
  void exclude(int32_t token);

  /// Whether a token was left out.
  bool restricts() const { return filled; }

private:
  std::span<uint32_t> words;
  bool filled = false;
};

} // namespace ingot::runtime
