// SPDX-License-Identifier: Apache-2.0
// The program "sample": one row of parameters per logit row in, tokens and log-probabilities out.
#pragma once

#include "runtime/engine/Executor.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/serving/Sequence.h"

#include <span>

namespace ingot::runtime {

struct TokenLogprob {
  int32_t token;
  float logprob;
};

class SampleProgram {
public:
  /// Binds buffers by name. INGOT-E5022: the program, or an output it needs, is missing.
  static Result<SampleProgram> bind(Executor &executor, uint32_t vocabulary);

  /// INGOT-E6012 when the engine's program lacks something these parameters need.
  Status supports(const SamplingParameters &sampling) const;

  /// Zeroes a newly admitted sequence's state and marks its prompt's tokens.
  void admit(Sequence &sequence);

  /// Draws the next token of each sequence from the row of the same number of the logits of the
  /// step just run. The order of `rows` is that of its logit rows. INGOT-E6504 when the device
  /// failed.
  Status run(std::span<Sequence *const> rows);

  int32_t token(size_t row) const { return tokens[row]; }
  /// NaN when the engine has no log-probabilities.
  float logprob(size_t row) const { return logprobs[row]; }
  /// The best alternatives of a row, best first, as many as its sequence asked for.
  std::vector<TokenLogprob> top(size_t row, int32_t wanted) const;

private:
  static constexpr int64_t absent = -1;

  SampleProgram() = default;
  int64_t find(const flatbuffers::Vector<uint32_t> *list, std::string_view name,
               uint64_t bytes) const;
  void fillRow(size_t row, const Sequence &sequence);

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
  std::vector<int32_t> tokens, topTokens;
  std::vector<float> logprobs, topLogprobs;
};

} // namespace ingot::runtime
