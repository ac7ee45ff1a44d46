// SPDX-License-Identifier: Apache-2.0
// What the server has done, as Prometheus text.
#pragma once

#include "runtime/serving/Loop.h"

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Counts of values up to each bound, and their sum. Not thread-safe.
class Histogram {
public:
  explicit Histogram(std::vector<double> bounds) : bounds(std::move(bounds)) {
    counts.assign(this->bounds.size() + 1, 0);
  }
  void observe(double value);
  /// Appends the lines of the samples `name`_bucket, _sum and _count.
  void write(std::string &out, const std::string &name, const std::string &labels) const;

private:
  std::vector<double> bounds; ///< rising
  std::vector<uint64_t> counts;
  double sum = 0;
};

/// Thread-safe. Times are in seconds.
class Metrics {
public:
  Metrics();

  /// The first token of an answer; `queued`: of it, before the first step. `promptTokens`: those of
  /// its request, told with one of its answers and 0 with the others.
  void firstToken(double seconds, double queued, int64_t promptTokens);
  /// Another token of an answer, so long after the one before.
  void nextToken(double seconds);
  /// The end of an answer: why, in OpenAI's words or "abort" or "error".
  void ended(const std::string &reason, double seconds);
  /// A response of HTTP has ended.
  void response(int status);
  void connections(int64_t change);

  /// All metrics. `loop`: null while the engine is being loaded. `model`: the label model_name.
  std::string text(const Loop *loop, const std::string &model) const;

private:
  mutable std::mutex mutex;
  Histogram firstTokenSeconds, interTokenSeconds, endSeconds, queueSeconds;
  int64_t promptTokens = 0, generatedTokens = 0;
  std::map<std::string, int64_t> successes; ///< by reason
  std::map<int, int64_t> responses;         ///< by status
  int64_t openConnections = 0;
};

} // namespace ingot::runtime
