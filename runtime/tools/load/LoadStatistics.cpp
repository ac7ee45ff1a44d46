// SPDX-License-Identifier: Apache-2.0
// One place for all commands that measure requests, so that their figures mean the same.
#include "runtime/tools/load/LoadStatistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingot::runtime {

double percentile(std::span<const double> sorted, double share) {
  if (sorted.empty())
    return 0;
  double place = share * double(sorted.size() - 1);
  size_t below = size_t(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - double(below)) * (sorted[above] - sorted[below]);
}

Distribution Distribution::of(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.size(),
          sum / double(values.size()),
          percentile(values, 0.5),
          percentile(values, 0.9),
          percentile(values, 0.95),
          percentile(values, 0.99),
          values.back()};
}

std::optional<ServiceLimits> ServiceLimits::parse(std::string_view words) {
  ServiceLimits limits;
  while (true) {
    std::string_view word = words.substr(0, words.find(','));
    size_t colon = word.find(':');
    std::string_view name = word.substr(0, colon);
    double *limit = name == "ttft"  ? &limits.firstToken
                    : name == "itl" ? &limits.perToken
                    : name == "e2e" ? &limits.endToEnd
                                    : nullptr;
    if (!limit || colon == word.npos || *limit != none)
      return std::nullopt;
    std::string number(word.substr(colon + 1));
    char *end = nullptr;
    double milliseconds = std::strtod(number.c_str(), &end);
    if (number.empty() || *end || !std::isfinite(milliseconds) || milliseconds <= 0)
      return std::nullopt;
    *limit = milliseconds / 1000;
    if (word.size() == words.size())
      return limits;
    words.remove_prefix(word.size() + 1);
  }
}

bool ServiceLimits::hold(const LoadRecord &record) const {
  return record.answered() && record.first >= 0 && record.timeToFirstToken() <= firstToken &&
         record.timePerOutputToken() <= perToken && record.endToEnd() <= endToEnd;
}

LoadSummary summarize(std::span<const LoadRecord> records, double seconds,
                      const ServiceLimits &limits) {
  LoadSummary summary;
  summary.seconds = seconds;
  std::vector<double> first, between, perToken, endToEnd, delay;
  for (const LoadRecord &record : records) {
    ++summary.requests;
    summary.promptTokens += record.promptTokens;
    summary.outputTokens += record.outputTokens;
    summary.cachedTokens += record.cachedTokens;
    delay.push_back(std::max(0.0, record.sent - record.due));
    if (!record.failure.kind.empty()) {
      ++summary.failed;
      LoadSummary::Failures &failures = summary.failures[record.failure.kind];
      if (failures.count++ == 0)
        failures.example = record.failure.error.toString();
      continue;
    }
    summary.cancelled += record.cancelled;
    if (record.cancelled)
      continue;
    ++summary.answered;
    summary.counted += record.counted;
    summary.good += limits.hold(record);
    endToEnd.push_back(record.endToEnd());
    if (record.first >= 0)
      first.push_back(record.timeToFirstToken());
    if (double mean = record.timePerOutputToken(); mean >= 0)
      perToken.push_back(mean);
    between.insert(between.end(), record.gaps.begin(), record.gaps.end());
  }
  summary.firstToken = Distribution::of(std::move(first));
  summary.betweenTokens = Distribution::of(std::move(between));
  summary.perToken = Distribution::of(std::move(perToken));
  summary.endToEnd = Distribution::of(std::move(endToEnd));
  summary.delay = Distribution::of(std::move(delay));
  return summary;
}

} // namespace ingot::runtime
