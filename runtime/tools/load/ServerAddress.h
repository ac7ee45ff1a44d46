// SPDX-License-Identifier: Apache-2.0
// Where a server of HTTP listens.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace ingot::runtime {

struct ServerAddress {
  std::string host; ///< a name or number, without brackets
  std::string port = "80";
  std::string path;      ///< before "/v1/...", without a slash at its end
  std::string authority; ///< as the header Host has it

  /// Reads addresses such as http://localhost:8000 and http://example.com/models, without TLS; a
  /// path that ends in /v1 is meant for the whole API.
  /// INGOT-E7240: it is something else.
  static Result<ServerAddress> parse(std::string_view url);
};

} // namespace ingot::runtime
