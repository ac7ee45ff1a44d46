// SPDX-License-Identifier: Apache-2.0
// Writes the launches of CUDA cases, with what they leave in the simulator, for tests/gpu.
#pragma once

#include <string>
#include <vector>

namespace ingot::conformance {

struct RecordOptions {
  std::string file;
  std::string architecture = "sm_90a";
  std::vector<std::string> prefixes; ///< of the cases' names; empty: all
  bool noPtx = false;                ///< without what only a simulator loads
};

/// Runs the cases and writes the file. Each kernel of a case runs at one number of rows. Prints
/// what was recorded; false after a failure, which is reported through GoogleTest or on stderr.
bool record(const RecordOptions &options);

} // namespace ingot::conformance
