// SPDX-License-Identifier: Apache-2.0
// bench --kernels: every kernel of a step alone, beside the whole step.
#pragma once

#include "runtime/tools/BandwidthProbe.h"
#include "runtime/tools/MeasuredEngine.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {

struct KernelBenchOptions {
  std::vector<int64_t> tokens; ///< of the steps; empty: 1, 10, 64, 512, as far as the engine goes
  int64_t context = 0;         ///< positions of every sequence; 0: 1024, or what the engine takes
  int64_t repeats = 5;
  bool print = true; ///< a table for each step
};

/// Measures one step after the other, with `probe` unless it is null; `take` gets each as JSON as
/// soon as it is there: its kernels, or {"tokens", "context", "skipped": why} where it does not
/// fit. INGOT-E6022 if none fits; INGOT-E6010 and E650x.
Status benchKernels(MeasuredEngine &engine, const KernelBenchOptions &options,
                    BandwidthProbe *probe, const std::function<void(const nlohmann::json &)> &take);

} // namespace ingot::runtime
