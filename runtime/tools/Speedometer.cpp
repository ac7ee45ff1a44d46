// SPDX-License-Identifier: Apache-2.0
// The clock around steps, and how rates are told.
#include "runtime/tools/Speedometer.h"

#include <cstdio>

namespace ingot::runtime {

void Speedometer::lap(const SessionCounters &counters) {
  Clock::time_point now = Clock::now();
  add(std::chrono::duration<double>(now - last).count(), counted, counters);
  last = now;
  counted = counters;
}

void Speedometer::report() const {
  std::fprintf(stderr,
               "prompt: %lld tokens, %.1f tokens/s; generation: %lld tokens, %.1f tokens/s\n",
               static_cast<long long>(counted.promptTokens), promptRate(),
               static_cast<long long>(counted.generatedTokens), generationRate());
}

} // namespace ingot::runtime
