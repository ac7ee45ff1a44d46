// SPDX-License-Identifier: Apache-2.0
// What an engine is, for those who look at a server: a short form of `ingot-run inspect --json`.
#pragma once

#include "runtime/serving/Loop.h"

#include <mutex>
#include <string>

namespace ingot::runtime {

/// Thread-safe. Made when it is first asked for, since it takes a large engine some milliseconds.
class EngineReport {
public:
  /// JSON. The members of `inspect --json`, but without buffers, kernels, programs and single
  /// weights; with "target" (the one that runs), "memory_plan", "weight_formats" and, in each of
  /// "targets", "fusions".
  const std::string &text(const Loop &loop);

private:
  std::once_flag made;
  std::string report;
};

} // namespace ingot::runtime
