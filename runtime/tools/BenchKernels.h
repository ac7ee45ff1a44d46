// SPDX-License-Identifier: Apache-2.0
// bench --kernels: every kernel of a step alone, beside the whole step.
#pragma once

#include "runtime/serving/Session.h"

namespace ingot::runtime {

struct KernelBenchOptions {
  std::string engine;
  std::vector<int64_t> tokens; ///< of the steps; empty: 1, 10, 64, 512, as far as the engine goes
  int64_t context = 0;         ///< positions of every sequence; 0: 1024, or what the engine takes
  int64_t repeats = 5;
  uint64_t probeBytes = 0;            ///< 0: no probe
  bool json = false;                  ///< print JSON instead of tables
  std::string jsonFile;               ///< not empty: write the JSON here too
  std::vector<int64_t> threads = {0}; ///< host: one table each
  SessionOptions session;
};

/// Measures and prints. INGOT-E5xxx, E6xxx or E71xx.
Status benchKernels(const KernelBenchOptions &options);

} // namespace ingot::runtime
