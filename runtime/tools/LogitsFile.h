// SPDX-License-Identifier: Apache-2.0
// Distributions that llama.cpp stored: `llama-perplexity --kl-divergence-base`.
#pragma once

#include "runtime/core/MappedFile.h"

#include <vector>

namespace ingot::runtime {

/// Windows of tokens, and log-probabilities of the second half of each (positions n/2 to n-2). The
/// format (llama.cpp's `tools/perplexity/perplexity.cpp`), little-endian: "_logits_", window,
/// vocabulary and windows as 32-bit integers, the tokens; then for each position a scale and the
/// least log-probability in f32, and a 16-bit number q for each token, which stands for least +
/// scale * q, padded to an even count.
class LogitsFile {
public:
  /// Errors: those of MappedFile; INGOT-E6028 for a file of another form or length, or tokens
  /// outside its vocabulary.
  static Result<LogitsFile> open(const std::string &path);

  size_t window() const { return windowTokens; }
  size_t windows() const { return windowCount; }
  size_t vocabulary() const { return tokensKnown; }
  /// Tokens of all windows.
  std::vector<int32_t> tokens() const;
  /// The distribution at `position` of a window, which is in its second half. Those that the file
  /// holds as its least are at most `least`. Errors: INGOT-E6028 for what is no number.
  Status read(size_t window, size_t position, std::vector<float> &logProbabilities) const;

  /// llama.cpp sums no probability of at most e^-16.
  static constexpr float least = -16;

private:
  size_t scored() const { return windowTokens - 1 - windowTokens / 2; }
  size_t rowBytes() const { return 2 * (4 + (tokensKnown + 1) / 2 * 2); }

  std::string path;
  MappedFile file;
  size_t windowTokens = 0, windowCount = 0, tokensKnown = 0;
};

} // namespace ingot::runtime
