// SPDX-License-Identifier: Apache-2.0
// One line of JSON for each request that has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ingot::runtime {

/// What is told of a request.
struct RequestRecord {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::string id;          ///< x-request-id
  std::string traceParent; ///< as it came; empty: it did not
  std::string method, path;
  int status = 0; ///< 499: the client left before the end
  std::string error;
  std::string chatTemplate; ///< whose error it is; empty: the engine's, or none
  int64_t promptTokens = 0, completionTokens = 0;
  double firstTokenSeconds = -1; ///< below 0: there was none
};

class RequestLog {
public:
  explicit RequestLog(bool enabled) : enabled(enabled) {}
  /// Writes a line to standard error, as one write; none for probes that found all well.
  /// Thread-safe.
  void write(const RequestRecord &record) const;

  /// The line without its end.
  static std::string lineOf(const RequestRecord &record, int64_t unixMilliseconds, double seconds);

private:
  bool enabled;
};

/// The request id that a client gave, if it is up to 128 letters, digits and "-_.:", or a new one.
std::string requestIdOf(std::string_view given);

/// A `traceparent` header if it has the form of the W3C's; otherwise nothing.
std::string traceParentOf(std::string_view given);

} // namespace ingot::runtime
