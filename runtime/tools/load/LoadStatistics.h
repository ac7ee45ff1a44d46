// SPDX-License-Identifier: Apache-2.0
// From requests to percentiles, throughput and goodput.
#pragma once

#include "runtime/tools/load/LoadRecord.h"

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace ingot::runtime {

/// Of some values; all 0 where there are none.
struct Distribution {
  size_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, most = 0;

  static Distribution of(std::vector<double> values);
};

/// The value below which a share of `sorted` lies, linear between neighbours; 0 for no values.
double percentile(std::span<const double> sorted, double share);

/// What a request must not pass to count for goodput, in seconds.
struct ServiceLimits {
  static constexpr double none = std::numeric_limits<double>::infinity();
  double firstToken = none, perToken = none, endToEnd = none;

  /// "ttft:500,itl:50,e2e:9000", each at most once, in milliseconds; nothing for other words.
  static std::optional<ServiceLimits> parse(std::string_view words);
  bool any() const { return firstToken < none || perToken < none || endToEnd < none; }
  /// Whether an answered request is within the limits; its mean time per token is what counts.
  bool hold(const LoadRecord &record) const;
};

struct LoadSummary {
  double seconds = 0; ///< of the load, from its start to the end of its last request
  size_t requests = 0, answered = 0, cancelled = 0, failed = 0;
  size_t good = 0;                            ///< answered within the limits
  size_t counted = 0;                         ///< answered without a statement of usage
  int64_t promptTokens = 0, outputTokens = 0; ///< of all requests
  int64_t cachedTokens = 0;                   ///< of prompts, as far as the answerer says so
  /// Of answered requests; times between tokens are those of all of them in one.
  Distribution firstToken, betweenTokens, perToken, endToEnd;
  Distribution delay; ///< of the client: from when a request was due until it was sent

  struct Failures {
    size_t count = 0;
    std::string example; ///< the first one's message
  };
  std::map<std::string, Failures> failures; ///< by kind

  double perSecond(double count) const { return seconds > 0 ? count / seconds : 0; }
};

LoadSummary summarize(std::span<const LoadRecord> records, double seconds,
                      const ServiceLimits &limits);

} // namespace ingot::runtime
