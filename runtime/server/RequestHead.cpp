// SPDX-License-Identifier: Apache-2.0
// The rules of RFC 9110 and 9112 that parsers leave to whoever uses them. Where two readers of one
// request could disagree about its end or its host, it is refused.
#include "runtime/server/RequestHead.h"

#include "runtime/server/HeaderValues.h"
#include "runtime/server/ResponseText.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

std::optional<ApiError> refuse(int status, std::string why) {
  return ApiError{status, "INGOT-E7211", std::move(why), {}};
}

/// Splits an address of http, which clients send to proxies (RFC 9112 3.2.2).
std::optional<ApiError> readAbsolute(HttpRequest &request, std::string_view target) {
  size_t begin = target.find("://");
  std::string scheme = lowerCase(target.substr(0, std::min(begin, target.size())));
  if (begin == target.npos || (scheme != "http" && scheme != "https"))
    return refuse(400, "the target of the request is neither a path nor an address of http; send "
                       "a path, which begins with '/'");
  target.remove_prefix(begin + 3);
  size_t end = std::min(target.find_first_of("/?#"), target.size());
  std::optional<std::string> host = hostOf(target.substr(0, end));
  if (!host || host->empty())
    return refuse(400, "the target of the request is an address without a host; send the path "
                       "alone");
  request.host = std::move(*host);
  std::string path(target.substr(end));
  request.path = pathOf(path.starts_with('/') ? path : '/' + path);
  return std::nullopt;
}

std::optional<ApiError> readTarget(RequestHead &head) {
  HttpRequest &request = head.request;
  if (request.method == "CONNECT")
    return refuse(501, "this server is no proxy, which CONNECT asks for; send the request itself");
  if (head.target == "*" && request.method == "OPTIONS") {
    request.path = "*";
    return std::nullopt;
  }
  if (!head.target.starts_with('/')) {
    if (std::optional<ApiError> error = readAbsolute(request, head.target))
      return error;
  } else {
    request.path = pathOf(head.target);
  }
  if (request.path.empty())
    return refuse(400, "the target of the request has a '%' without two hexadecimal digits behind "
                       "it; write it as %25");
  return std::nullopt;
}

std::optional<ApiError> readHost(RequestHead &head) {
  HttpRequest &request = head.request;
  auto isHost = [](const HttpHeader &header) { return header.name == "host"; };
  auto lines = std::count_if(request.headers.begin(), request.headers.end(), isHost);
  if (lines > 1)
    return refuse(400, "the request has more than one header Host; send one");
  if (lines == 0 && head.atLeast11)
    return refuse(400, "the request has no header Host, which HTTP/1.1 asks for; send one");
  std::optional<std::string> host = hostOf(request.header("host"));
  if (!host)
    return refuse(400, "the header Host is no name or address with or without a port; send one as "
                       "in 'Host: localhost:8000'");
  // That of the target wins (RFC 9112 3.2.2).
  if (request.host.empty())
    request.host = std::move(*host);
  return std::nullopt;
}

bool has(const HttpRequest &request, std::string_view name) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [&](const HttpHeader &header) { return header.name == name; });
}

/// Where the body ends (RFC 9112 6).
std::optional<ApiError> readFraming(RequestHead &head) {
  const HttpRequest &request = head.request;
  if (!has(request, "transfer-encoding"))
    return std::nullopt;
  if (!head.atLeast11)
    return refuse(400, "HTTP/1.0 has no Transfer-Encoding; send Content-Length");
  if (has(request, "content-length"))
    return refuse(400, "the request has both Transfer-Encoding and Content-Length; send one");
  std::vector<std::string> codings = elementsOf(request, "transfer-encoding");
  if (codings.empty() || codings.back() != "chunked")
    return refuse(400, "the last transfer coding of the body is not chunked, so its end is "
                       "unknown; send Transfer-Encoding: chunked, or Content-Length");
  if (codings.size() > 1)
    return refuse(501, "the body is in more transfer codings than chunked; send that one alone");
  head.chunked = true;
  return std::nullopt;
}

std::optional<ApiError> readCoding(RequestHead &head) {
  for (const std::string &coding : elementsOf(head.request, "content-encoding"))
    if (coding != "identity")
      return ApiError{415, "INGOT-E7213", "the body is compressed; send it as it is", {}};
  return std::nullopt;
}

std::optional<ApiError> readConnection(RequestHead &head) {
  std::vector<std::string> options = elementsOf(head.request, "connection");
  auto says = [&](const char *option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  head.keepAlive = !says("close") && (head.atLeast11 || says("keep-alive"));
  return std::nullopt;
}

std::optional<ApiError> readExpectations(RequestHead &head) {
  if (!head.atLeast11)
    return std::nullopt; // which knows of none
  for (const std::string &expectation : elementsOf(head.request, "expect")) {
    if (expectation != "100-continue")
      return refuse(417, "the request expects what this server does not know; of the header "
                         "Expect send 100-continue alone");
    head.expectsContinue = true;
  }
  return std::nullopt;
}

} // namespace

std::optional<ApiError> readHead(RequestHead &head) {
  // The path first: it decides about the form of errors.
  for (auto read :
       {readTarget, readHost, readFraming, readCoding, readConnection, readExpectations})
    if (std::optional<ApiError> error = read(head))
      return error;
  return std::nullopt;
}

ApiError unreadableLine(std::string_view line, bool wrongVersion, const std::string &why) {
  constexpr std::string_view name = " HTTP/";
  size_t version = line.rfind(name);
  if (wrongVersion && version != line.npos) {
    std::string_view number = line.substr(version + name.size());
    if (number.find_first_not_of("0123456789.") == number.npos && !number.empty() &&
        number != "1.0" && number != "1.1")
      return {505,
              "INGOT-E7211",
              "this server speaks HTTP/1.1 and 1.0, not " + std::string(number) +
                  "; send requests of HTTP/1.1",
              {}};
  }
  return {400, "INGOT-E7211", "this is no request of HTTP/1.1: " + why + "; see RFC 9112", {}};
}

} // namespace ingot::runtime
