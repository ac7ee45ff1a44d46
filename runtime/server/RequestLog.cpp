// SPDX-License-Identifier: Apache-2.0
// Lines of the log, and the names by which requests are found in it.
#include "runtime/server/RequestLog.h"

#include "runtime/core/SystemRandom.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>

namespace ingot::runtime {

std::string RequestLog::lineOf(const RequestRecord &record, int64_t unixMilliseconds,
                               double seconds) {
  nlohmann::ordered_json line = {{"time", double(unixMilliseconds) / 1000},
                                 {"level", record.status >= 500 ? "error" : "info"},
                                 {"request_id", record.id},
                                 {"method", record.method},
                                 {"path", record.path},
                                 {"status", record.status},
                                 {"seconds", seconds}};
  if (record.promptTokens > 0) {
    line["prompt_tokens"] = record.promptTokens;
    line["completion_tokens"] = record.completionTokens;
  }
  if (record.firstTokenSeconds >= 0)
    line["first_token_seconds"] = record.firstTokenSeconds;
  if (!record.traceParent.empty())
    line["traceparent"] = record.traceParent;
  if (!record.error.empty())
    line["error"] = record.error;
  if (!record.chatTemplate.empty())
    line["chat_template"] = record.chatTemplate;
  return line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

void RequestLog::write(const RequestRecord &record) const {
  // What probes and pages ask every second tells nothing while all is well.
  bool polled = record.path == "/metrics" || record.path == "/health" || record.path == "/ready";
  if (!enabled || (polled && record.status == 200))
    return;
  using namespace std::chrono;
  std::string line =
      lineOf(record, duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count(),
             duration<double>(steady_clock::now() - record.start).count());
  line += '\n';
  // A log that cannot be written is no reason to end requests.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

std::string requestIdOf(std::string_view given) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  if (!given.empty() && given.size() <= 128 && std::all_of(given.begin(), given.end(), allowed))
    return std::string(given);
  char id[33];
  std::snprintf(id, sizeof id, "%016llx%016llx", static_cast<unsigned long long>(systemRandom()),
                static_cast<unsigned long long>(systemRandom()));
  return id;
}

std::string traceParentOf(std::string_view given) {
  // version-trace-parent-flags: 2, 32, 16 and 2 hexadecimal digits.
  if (given.size() != 55)
    return {};
  for (size_t i = 0; i < given.size(); ++i) {
    bool dash = i == 2 || i == 35 || i == 52;
    bool digit = (given[i] >= '0' && given[i] <= '9') || (given[i] >= 'a' && given[i] <= 'f');
    if (dash ? given[i] != '-' : !digit)
      return {};
  }
  return std::string(given);
}

} // namespace ingot::runtime
