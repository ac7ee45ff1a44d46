// SPDX-License-Identifier: Apache-2.0
// The clock around steps, and how rates are told.
#include "runtime/tools/Speedometer.h"

#include <chrono>
#include <cstdio>

namespace ingot::runtime {

Result<bool> Speedometer::step(Session &session) {
  SessionCounters before = session.counters();
  auto start = std::chrono::steady_clock::now();
  Result<bool> active = session.step();
  add(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), before,
      session.counters());
  return active;
}

void Speedometer::report(const Session &session) const {
  const SessionCounters &total = session.counters();
  std::fprintf(stderr,
               "prompt: %lld tokens, %.1f tokens/s; generation: %lld tokens, %.1f tokens/s\n",
               static_cast<long long>(total.promptTokens), promptRate(),
               static_cast<long long>(total.generatedTokens), generationRate());
}

} // namespace ingot::runtime
