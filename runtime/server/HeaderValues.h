// SPDX-License-Identifier: Apache-2.0
// Values of headers as RFC 9110 has them: lists, media types, hosts.
#pragma once

#include "runtime/server/HttpMessage.h"

#include <optional>

namespace ingot::runtime {

/// With ASCII letters in lower case.
std::string lowerCase(std::string_view text);

/// The elements of a header that is a list, from all its lines, in lower case; none is empty.
std::vector<std::string> elementsOf(const HttpRequest &request, std::string_view name);

struct MediaType {
  std::string name;    ///< in lower case, as in "application/json"
  std::string charset; ///< in lower case; empty: not given
};
MediaType mediaTypeOf(std::string_view value);

/// The host of `HOST[:PORT]`, in lower case, without a dot at its end; addresses of IPv6 in the
/// form of RFC 5952, without their brackets. Nothing: this is none. A host may be empty.
std::optional<std::string> hostOf(std::string_view authority);

} // namespace ingot::runtime
