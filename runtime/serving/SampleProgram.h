// SPDX-License-Identifier: Apache-2.0
// The program "sample": one row of parameters per logit row in, tokens and log-probabilities out.
#pragma once

#include "runtime/engine/Executor.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/serving/Sequence.h"
#include "runtime/serving/TokenMask.h"

#include <array>
#include <span>

namespace ingot::runtime {

/// A row of logits that a token is drawn from, or that says how likely a known one is.
struct SampleRow {
  Sequence *sequence; ///< null once its request has ended
  int64_t place;      ///< of the token in Sequence::tokens
  bool known = false; ///< it is there already; its log-probability is wanted
};

/// A draw under way: its number of rows, and the most that one of them wants to know.
struct SampleDraw {
  size_t rows = 0;
  int32_t mostLogprobs = -1;
};

class SampleProgram {
public:
  /// Drawn where no token may be: no logit is a number above minus infinity.
  static constexpr int32_t noToken = -1;

  /// Binds buffers by name. INGOT-E5022: the program, or an output it needs, is missing.
  static Result<SampleProgram> bind(Executor &executor, uint32_t vocabulary);

  /// INGOT-E6012 when the engine's program lacks something these parameters need.
  Status supports(const SamplingParameters &sampling) const;

  /// Zeroes an admitted sequence's state, marks its prompt's tokens and counts those it has drawn.
  void admit(Sequence &sequence);

  /// Whether a second draw may start before the first is finished, which then are finished in
  /// their order.
  bool runsAhead() const { return ahead; }
  /// Starts to draw the token of each row from the row of the same number of the logits of the step
  /// just run; a known token is the only one that may be drawn in its row, and changes nothing of
  /// the sequence's state. The order of `rows` is that of its logit rows; there may be none.
  SampleDraw start(std::span<const SampleRow> rows);
  /// Waits for a draw. INGOT-E6504 when the device failed.
  Status finish(const SampleDraw &draw);

  /// The buffer of the tokens of the last draw, a row each.
  uint32_t tokens() const { return uint32_t(tokensBuffer); }

  // Of the draw finished last:
  int32_t token(size_t row) const { return drawn[row]; }
  /// NaN when the engine has no log-probabilities.
  float logprob(size_t row) const { return logprobs[row]; }
  /// The best alternatives of a row, best first, as many as its sequence asked for.
  std::vector<TokenLogprob> top(size_t row, int32_t wanted) const;

private:
  static constexpr int64_t absent = -1;
  struct Output {
    int64_t buffer;
    void *destination;
    uint64_t bytes; ///< of all rows of a draw; 0: nobody wants to know
  };

  SampleProgram() = default;
  int64_t find(const flatbuffers::Vector<uint32_t> *list, std::string_view name,
               uint64_t bytes) const;
  void fillRow(size_t row, Sequence &sequence, int64_t place);
  void fillKnown(size_t row, const Sequence &sequence, int32_t token);
  TokenMask maskOf(size_t row);
  int32_t maskUse(size_t row, Sequence &sequence);
  void writeMasks(size_t rows);
  std::array<Output, 4> outputsOf(const SampleDraw &draw);

  Executor *executor = nullptr;
  uint32_t program = 0;
  uint32_t vocabulary = 0;
  size_t maskWords = 0;
  int64_t paramsBuffer = absent, biasIdsBuffer = absent, biasValuesBuffer = absent,
          maskBuffer = absent, countsBuffer = absent, tokensBuffer = absent,
          logprobsBuffer = absent, topTokensBuffer = absent, topLogprobsBuffer = absent;

  std::vector<IngotSampleParams> params;
  std::vector<int32_t> biasIds;
  std::vector<float> biasValues;
  std::vector<uint32_t> mask;
  std::vector<uint32_t> counts;
  bool ahead = false;
  std::vector<int32_t> drawn, topTokens;
  std::vector<float> logprobs, topLogprobs;
};

} // namespace ingot::runtime
