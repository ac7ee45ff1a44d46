// SPDX-License-Identifier: Apache-2.0
// What the commands share that put a load on something: options, warm-ups, output.
#pragma once

#include "runtime/tools/CommandLine.h"
#include "runtime/tools/load/LoadProgress.h"
#include "runtime/tools/load/LoadStatistics.h"
#include "runtime/tools/load/Pacing.h"
#include "runtime/tools/load/Workload.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace ingot::runtime {

/// The options as they are written; `readLoad` turns them into a workload.
struct LoadArguments {
  WorkloadOptions workload;
  Pacing pacing;
  ServiceLimits limits;
  int64_t warmUps = 1;
  bool ignoreEos = false, allowFailures = false;
  std::string json, svg, compare; ///< files; empty: none

  std::string rate, promptTokens = "128", outputTokens = "64", sharedPrefix, slo;
  double duration = 0; ///< 0: without end
};

/// Adds the options; parsing fills `arguments`, which must outlive `app`. The bound of the context
/// is not among them: where there is a session, it is the session's.
void addLoadOptions(CommandLine &app, LoadArguments &arguments);

/// After parsing: fills workload, pacing and limits from the words.
void readLoad(LoadArguments &arguments);

/// Puts a workload on something; fails where that as a whole does.
using LoadRunner = std::function<Result<std::vector<LoadRecord>>(
    Workload &workload, const Pacing &pacing, LoadProgress &progress, double &seconds)>;

/// Warms up, runs the load, prints what came of it and writes the files. `subject` goes into the
/// JSON, `title` into the picture. Returns the exit status; requests that failed are an error
/// (INGOT-E7245) unless they are allowed, and texts that differ from earlier ones (INGOT-E7248).
int measureLoad(const LoadArguments &arguments, nlohmann::ordered_json subject,
                const std::string &title, const LoadRunner &run);

} // namespace ingot::runtime
