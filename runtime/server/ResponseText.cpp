// SPDX-License-Identifier: Apache-2.0
// Heads and chunks of HTTP/1.1 (RFC 9112).
#include "runtime/server/ResponseText.h"

#include <charconv>
#include <cstdio>
#include <ctime>

namespace ingot::runtime {

static const char *phraseOf(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 204:
    return "No Content";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 413:
    return "Content Too Large";
  case 414:
    return "URI Too Long";
  case 415:
    return "Unsupported Media Type";
  case 417:
    return "Expectation Failed";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 500:
    return "Internal Server Error";
  case 501:
    return "Not Implemented";
  case 503:
    return "Service Unavailable";
  case 504:
    return "Gateway Timeout";
  case 505:
    return "HTTP Version Not Supported";
  default:
    return "Status";
  }
}

std::string responseHead(const HttpResponse &response, const ResponseFrame &frame) {
  std::string head =
      "HTTP/1.1 " + std::to_string(response.status) + ' ' + phraseOf(response.status) + "\r\n";
  auto add = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.contentType.empty())
    add("Content-Type", response.contentType);
  if (frame.end == BodyEnd::Length && response.status != 204)
    add("Content-Length", std::to_string(response.body.size()));
  if (frame.end == BodyEnd::Chunks)
    add("Transfer-Encoding", "chunked");
  add("Connection", frame.keepAlive ? "keep-alive" : "close");
  for (const std::vector<HttpHeader> *list : {&frame.headers, &response.headers})
    for (const HttpHeader &header : *list)
      add(header.name, header.value);
  return head + "\r\n";
}

std::string bodyPart(std::string_view part, BodyEnd end) {
  if (end != BodyEnd::Chunks)
    return std::string(part);
  if (part.empty())
    return {}; // an empty chunk would be the end
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", part.size());
  return std::string(size).append(part).append("\r\n");
}

std::string_view bodyEnd(BodyEnd end) { return end == BodyEnd::Chunks ? "0\r\n\r\n" : ""; }

std::string dateText(int64_t unixSeconds) {
  time_t time = time_t(unixSeconds);
  tm parts = {};
  gmtime_r(&time, &parts);
  // No locale is ever set, so the names are English.
  char text[40];
  size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text, size);
}

std::string pathOf(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::string path;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] != '%') {
      path += target[i];
      continue;
    }
    unsigned code = 0;
    std::string_view digits = target.substr(i + 1, 2);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2)
      return {};
    path += char(code);
    i += 2;
  }
  return path;
}

} // namespace ingot::runtime
