// SPDX-License-Identifier: Apache-2.0
// Where the program's time goes, for tests/time_spent.py.
#pragma once

#include <chrono>
#include <string>

namespace ingot::conformance {

/// Adds the seconds of its life to those of one stage. On the main thread only.
class StageTimer {
public:
  /// `stage` is "compile TARGET" or "simulate TARGET".
  explicit StageTimer(std::string stage) : stage(std::move(stage)) {}
  ~StageTimer();
  StageTimer(const StageTimer &) = delete;
  StageTimer &operator=(const StageTimer &) = delete;

private:
  std::string stage;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// Prints a line `STAGE SECONDS s` for each stage, as `ingot build` does.
void printStageSeconds();

} // namespace ingot::conformance
