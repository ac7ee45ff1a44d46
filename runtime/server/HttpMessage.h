// SPDX-License-Identifier: Apache-2.0
// Requests and responses of HTTP as handlers see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct HttpHeader {
  std::string name; ///< of requests: in lower case
  std::string value;
};

struct HttpRequest {
  std::string method = {};
  std::string path = {}; ///< without the query
  std::string host = {}; ///< whom it asks, as hostOf() writes it; empty: nobody is named
  std::vector<HttpHeader> headers = {};
  std::string body = {};

  /// The first header of that name, which is in lower case; empty: there is none.
  std::string_view header(std::string_view name) const {
    for (const HttpHeader &entry : headers)
      if (entry.name == name)
        return entry.value;
    return {};
  }
};

struct HttpResponse {
  int status = 200;
  std::string contentType = "application/json"; ///< empty: there is no body
  std::vector<HttpHeader> headers = {};
  std::string body = {};
};

} // namespace ingot::runtime
