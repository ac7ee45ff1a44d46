// SPDX-License-Identifier: Apache-2.0
// What the head of a request says of its target, its body and its connection.
#pragma once

#include "runtime/server/ErrorBody.h"

#include <optional>

namespace ingot::runtime {

/// A head whose grammar a parser has checked.
struct RequestHead {
  // What was sent.
  std::string target;
  bool atLeast11 = true; ///< HTTP/1.1, not 1.0
  HttpRequest request;   ///< method and headers; no body yet
  // What it means, by readHead; so are path and host of the request.
  bool chunked = false;
  bool keepAlive = false;
  bool expectsContinue = false;
};

/// Fills in what the head means. The error, where RFC 9110 or 9112 forbids it or this server cannot
/// do what it asks: where the body ends is then unknown, so the connection must end.
/// INGOT-E7211, INGOT-E7213.
std::optional<ApiError> readHead(RequestHead &head);

/// The error for a first line that no parser reads. `wrongVersion`: it does up to the version.
ApiError unreadableLine(std::string_view line, bool wrongVersion, const std::string &why);

} // namespace ingot::runtime
