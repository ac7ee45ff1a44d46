// SPDX-License-Identifier: Apache-2.0
// What was measured of one request.
#pragma once

#include "runtime/core/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Seconds since the load began.
class LoadClock {
public:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Why a request failed.
struct LoadFailure {
  std::string kind; ///< by which failures are counted, as "HTTP 429"; empty: it did not fail
  Status error;     ///< with the answerer's own words
};

/// Times are seconds since the load began. Latencies count from `due`, not from `sent`: a client
/// that is late does not flatter the server (docs/decisions/0089).
struct LoadRecord {
  int64_t number = 0; ///< of the request in its workload
  double due = 0, sent = 0, end = 0;
  double first = -1, last = -1; ///< when the first and the last tokens came; -1: none did
  std::vector<float> gaps;      ///< seconds from each arrival of tokens to the next
  int64_t promptTokens = 0, outputTokens = 0;
  int64_t cachedTokens = 0; ///< of the prompt, that the answerer says it had computed before
  bool counted = false;     ///< the answerer stated no usage: output tokens are counted arrivals
  bool cancelled = false;   ///< by the client, on purpose
  std::string text;         ///< of the answer
  std::string finish;       ///< why it ended, as the answerer has it
  LoadFailure failure;

  bool answered() const { return failure.kind.empty() && !cancelled; }
  double timeToFirstToken() const { return first - due; }
  double endToEnd() const { return end - due; }
  /// Mean seconds from token to token; negative where there are none to compare.
  double timePerOutputToken() const {
    return outputTokens > 1 && last > first ? (last - first) / double(outputTokens - 1) : -1;
  }

  /// Tokens came at `now`.
  void arrived(double now) {
    if (first < 0)
      first = now;
    else
      gaps.push_back(float(now - last));
    last = now;
  }
};

} // namespace ingot::runtime
