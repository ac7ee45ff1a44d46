// SPDX-License-Identifier: Apache-2.0
// Sums of seconds by stage.
#include "tests/conformance/StageSeconds.h"

#include <cstdio>
#include <map>

using namespace ingot;

static std::map<std::string, double> &secondsByStage() {
  static std::map<std::string, double> seconds;
  return seconds;
}

conformance::StageTimer::~StageTimer() {
  std::chrono::duration<double> life = std::chrono::steady_clock::now() - started;
  secondsByStage()[stage] += life.count();
}

void conformance::printStageSeconds() {
  for (const auto &[stage, seconds] : secondsByStage())
    printf("%-28s %6.2f s\n", stage.c_str(), seconds);
}
