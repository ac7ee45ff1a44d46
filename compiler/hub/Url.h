// SPDX-License-Identifier: Apache-2.0
// Addresses that may be asked: of https, and of http on this machine.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>

namespace ingot::hub {

/// An address in parts, so that what is checked is what is asked: text() is made of them alone.
struct Url {
  bool isSecure = true; ///< https
  std::string host;     ///< lower-case; an IPv6 address stands in brackets
  uint16_t port = 443;
  std::string target = "/"; ///< path and query, as they are sent

  /// Error: INGOT-E7303, where `text` is no address of https or, on this machine, of http; where it
  /// names a user, or has characters that an address escapes.
  static checkpoint::Expected<Url> parse(std::string_view text);

  /// Where an answer from here sends to by the field Location. Errors: those of parse(), and from
  /// https to http.
  checkpoint::Expected<Url> redirectedTo(std::string_view location) const;

  std::string text() const;
  /// Scheme, host and port are the same, so that what may be said to one may be said to the other.
  bool sameOrigin(const Url &other) const;
  /// localhost, 127.0.0.0/8 or [::1].
  bool isLoopback() const;
};

/// ASCII's letters in lower case.
std::string lowered(std::string_view text);

/// `path` as it stands in an address: all but letters, digits, `-._~` and `/` escaped.
std::string escapedPath(std::string_view path);

} // namespace ingot::hub
