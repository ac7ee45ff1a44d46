// SPDX-License-Identifier: Apache-2.0
// One request of HTTP and its response, given whole or in parts.
#pragma once

#include "runtime/server/ErrorBody.h"
#include "runtime/server/RequestLog.h"

#include <memory>

namespace ingot::runtime {

/// Hears what becomes of a response in parts. Called on an I/O thread, never after the response's
/// end.
class ExchangeListener {
public:
  virtual ~ExchangeListener() = default;
  /// The client is gone; what is sent from now on is dropped.
  virtual void closed() = 0;
  /// All that was sent has left the process.
  virtual void drained() = 0;
};

/// All functions but the constructor may be called from any thread, one call at a time; none waits
/// for the client. Either `respond`, or `begin`, `send` any number of times and `finish`.
class Exchange {
public:
  explicit Exchange(HttpRequest request) : request(std::move(request)) {}
  virtual ~Exchange() = default;

  virtual void respond(HttpResponse response) = 0;
  /// Responds with an error, which the record names.
  void refuse(const ApiError &error) {
    record.error = error.code;
    respond(errorResponse(error, errorFormOf(request.path)));
  }
  /// Begins a response in parts; its body is not looked at.
  virtual void begin(HttpResponse head) = 0;
  /// Sends a part. The result is how many bytes now wait for the client.
  virtual size_t send(std::string_view part) = 0;
  virtual void finish() = 0;
  /// Who hears of the client until the response's end. `closed` may be called from within, when the
  /// client is gone already.
  virtual void listen(std::shared_ptr<ExchangeListener> listener) = 0;

  HttpRequest request;
  RequestRecord record; ///< for the log; until `respond` or `finish`
};

} // namespace ingot::runtime
