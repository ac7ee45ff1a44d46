// SPDX-License-Identifier: Apache-2.0
// Perplexity of a text under an engine, cut into windows by a stated rule.
#pragma once

#include "ingot/ingot.hpp"

#include <limits>

namespace ingot::e2e {

enum class WindowStart {
  AsIs,
  BosInPlace, ///< the first token of each window gives way to BOS
  BosInFront  ///< BOS stands before one token less of the stream
};

/// How a stream of tokens is cut and what of it counts. Windows do not overlap; each is run on its
/// own from position 0.
struct Windowing {
  size_t length = 256;    ///< tokens of a window, BOS included
  size_t firstScored = 1; ///< index in a window of the first token that counts
  WindowStart start = WindowStart::AsIs;
  bool keepShortWindow = false; ///< the rest at the end counts too
  size_t maxWindows = std::numeric_limits<size_t>::max();
};

/// llama.cpp's rule: whole windows, each begun with BOS, only the second half counts.
Windowing llamaCppWindowing(size_t length, size_t maxWindows = SIZE_MAX);

/// exp of the mean negative log-probability of the tokens that count.
double perplexity(Engine &engine, std::span<const int32_t> tokens, const Windowing &windowing);

} // namespace ingot::e2e
