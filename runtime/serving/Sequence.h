// SPDX-License-Identifier: Apache-2.0
// One request on its way through the engine: its tokens, its place in the KV cache, its text.
#pragma once

#include "runtime/serving/SamplingParameters.h"
#include "runtime/serving/StopText.h"
#include "runtime/serving/Tokenizer.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace ingot::runtime {

/// The blocks of one sequence in each KV group.
using SequenceBlocks = std::vector<std::vector<int32_t>>;

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
  std::vector<int32_t> tokens;                  ///< the prompt, then what was generated
  int64_t promptTokens = 0;
  int64_t computed = 0;      ///< positions whose K and V are in the cache
  int64_t maxNewTokens = 0;  ///< at least 1; already cut to the context
  bool cutByContext = false; ///< fewer than asked for
  SamplingParameters sampling;

  int64_t slot = -1; ///< row of the State buffers; -1 while waiting
  SequenceBlocks blocks;
  bool needsState = false; ///< admitted, but its state rows are not set up yet

  /// The row of the last draw that gives the last token, while the host does not know it.
  int64_t drawRow = -1;

  std::optional<Detokenizer> detokenizer;
  StopText stopText;

  /// Whether the last token has been drawn on the device only.
  bool unknown() const { return tokens.back() == unknownToken; }
  int64_t pending() const { return int64_t(tokens.size()) - computed; }
  int64_t generated() const { return int64_t(tokens.size()) - promptTokens; }
  /// Positions that must find room in the KV cache; the last token drawn is never computed.
  int64_t positions() const { return promptTokens + maxNewTokens - 1; }
};

} // namespace ingot::runtime
