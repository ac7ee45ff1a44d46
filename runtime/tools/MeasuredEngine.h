// SPDX-License-Identifier: Apache-2.0
// An engine loaded to be measured: steps of any shape on inputs that are valid, without prompts.
#pragma once

#include "runtime/serving/Session.h"

namespace ingot::runtime {

/// The sizes of one step that is measured.
struct MeasuredShape {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t logitRows = 0;
  int64_t context = 0; ///< positions of each sequence, the step's own included

  /// Pairs of a token and a position that it sees.
  int64_t visiblePositions() const;
};

/// Not copyable or movable: the programs point into it.
class MeasuredEngine {
public:
  MeasuredEngine(const MeasuredEngine &) = delete;

  /// Binds the programs of `executor`, which outlives this. Its KV cache and state rows are this
  /// object's from now on. INGOT-E5011 or E5022.
  static Result<std::unique_ptr<MeasuredEngine>> over(Executor &executor);

  /// Opens, verifies and loads. INGOT-E5xxx, E6xxx or E71xx.
  static Result<std::unique_ptr<MeasuredEngine>> open(const std::string &path,
                                                      const SessionOptions &options);

  Executor &executor() { return *loaded; }
  /// The programs that a step runs: "step", then "sample" where the engine has it.
  const std::vector<uint32_t> &programs() const { return indices; }

  /// Sets up a step of `tokens` tokens: one of each of so many sequences where a step takes as
  /// many, else the last ones of a single sequence. Every sequence has `context` positions (or the
  /// step's tokens, where these are more) in blocks of its own, whose content is whatever lies
  /// there. Runs the programs once. INGOT-E6022: it does not fit the engine's limits or KV cache.
  Result<MeasuredShape> prepare(int64_t tokens, int64_t context);

  /// Runs the prepared step's programs.
  void run();

private:
  MeasuredEngine() = default;
  Status reserve(const MeasuredShape &shape);

  std::unique_ptr<Executor> owned; ///< null over an executor of the caller's
  Executor *loaded = nullptr;
  std::optional<StepProgram> step;
  std::optional<SampleProgram> sample;
  std::optional<KvCache> cache;
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<uint32_t> indices;
};

} // namespace ingot::runtime
