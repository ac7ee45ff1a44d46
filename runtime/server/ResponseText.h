// SPDX-License-Identifier: Apache-2.0
// Responses as bytes of HTTP/1.1.
#pragma once

#include "runtime/server/HttpMessage.h"

#include <cstdint>

namespace ingot::runtime {

/// How a response's body ends.
enum class BodyEnd {
  Length,  ///< after so many bytes
  Chunks,  ///< with an empty chunk
  Closing, ///< with the connection
};

/// What the head says beside the response's own headers.
struct ResponseFrame {
  BodyEnd end = BodyEnd::Length;
  bool keepAlive = true;
  std::vector<HttpHeader> headers; ///< of every response to this request
};

/// The status line and the headers, with the empty line behind them.
std::string responseHead(const HttpResponse &response, const ResponseFrame &frame);

/// A part of a body, framed as its end asks. An empty part is no end.
std::string bodyPart(std::string_view part, BodyEnd end);
/// What ends a body.
std::string_view bodyEnd(BodyEnd end);

/// A time as the header Date has it (RFC 9110), as in "Sun, 06 Nov 1994 08:49:37 GMT".
std::string dateText(int64_t unixSeconds);

/// The path of a request's target: without the query, its %XX replaced. Empty: it is none.
std::string pathOf(std::string_view target);

} // namespace ingot::runtime
