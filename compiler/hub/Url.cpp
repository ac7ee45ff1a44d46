// SPDX-License-Identifier: Apache-2.0
// A strict reading of RFC 3986: what has two readings is refused.
#include "compiler/hub/Url.h"

#include <algorithm>
#include <charconv>

using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;

namespace ingot::hub {
namespace {

constexpr size_t kMostCharacters = 16384; // signed addresses of storage have a few thousand

Error refused(std::string_view text, std::string_view why) {
  return Error{"INGOT-E7303", checkpoint::message("the address ", why), checkpoint::printable(text),
               "addresses are https, or http on this machine alone, without a user"};
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Four numbers up to 255 without further zeros, the first of which is 127.
bool isLoopbackNumber(std::string_view host) {
  int parts = 0;
  while (!host.empty()) {
    const std::string_view part = host.substr(0, host.find('.'));
    unsigned value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value > 255 ||
        (part.size() > 1 && part[0] == '0') || (parts == 0 && value != 127))
      return false;
    ++parts;
    if (part.size() == host.size())
      break;
    host.remove_prefix(part.size() + 1);
    if (host.empty())
      return false;
  }
  return parts == 4;
}

bool isHost(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return std::all_of(host.begin(), host.end(), [](char c) {
      return isDigit(c) || c == ':' || c == '.' || (c >= 'a' && c <= 'f');
    });
  }
  return !host.empty() && host.front() != '.' && host.front() != '-' &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return isDigit(c) || isLetter(c) || c == '-' || c == '.' || c == '_';
         });
}

bool isTarget(std::string_view target) {
  return std::all_of(target.begin(), target.end(), [](char c) {
    return c > 0x20 && c < 0x7f &&
           std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
  });
}

} // namespace

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char &c : out)
    if (c >= 'A' && c <= 'Z')
      c = char(c - 'A' + 'a');
  return out;
}

Expected<Url> Url::parse(std::string_view text) {
  if (text.size() > kMostCharacters)
    return refused(text, "is too long");
  const size_t colon = text.find("://");
  const std::string scheme = lowered(text.substr(0, colon));
  if (colon == text.npos || (scheme != "https" && scheme != "http"))
    return refused(text, "is none of https");
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view place = rest.substr(0, end);
  Url url;
  url.isSecure = scheme == "https";
  url.port = url.isSecure ? 443 : 80;
  url.target = std::string(rest.substr(end));
  if (url.target.empty() || url.target[0] == '?')
    url.target.insert(0, "/");
  if (!isTarget(url.target))
    return refused(text, "has a character that must be escaped");
  const size_t bracket = place.rfind(']');
  const size_t port = place.find(':', bracket == place.npos ? 0 : bracket);
  if (port != place.npos) {
    const std::string_view digits = place.substr(port + 1);
    auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || last != digits.data() + digits.size() || url.port == 0)
      return refused(text, "has no port of 1 to 65535");
  }
  url.host = lowered(place.substr(0, port));
  if (!isHost(url.host))
    return refused(text, "has no plain host");
  if (!url.isSecure && !url.isLoopback())
    return refused(text, "is http, of another machine");
  return url;
}

Expected<Url> Url::redirectedTo(std::string_view location) const {
  Url here = *this;
  here.target.clear();
  std::string text(location);
  if (location.starts_with("//"))
    text.insert(0, isSecure ? "https:" : "http:");
  else if (location.starts_with("/"))
    text.insert(0, here.text());
  else if (location.find("://") == location.npos || location.find("://") > location.find('?')) {
    const std::string_view path = std::string_view(target).substr(0, target.find('?'));
    text.insert(0, here.text() + std::string(path.substr(0, path.rfind('/') + 1)));
  }
  auto next = parse(text);
  if (next && isSecure && !next->isSecure)
    return refused(location, "leads from https to http");
  return next;
}

std::string Url::text() const {
  std::string text = (isSecure ? "https://" : "http://") + host;
  if (port != (isSecure ? 443 : 80))
    text += ":" + std::to_string(port);
  return text + target;
}

bool Url::sameOrigin(const Url &other) const {
  return isSecure == other.isSecure && host == other.host && port == other.port;
}

bool Url::isLoopback() const {
  return host == "localhost" || host == "[::1]" || isLoopbackNumber(host);
}

std::string escapedPath(std::string_view path) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : path)
    if (isDigit(c) || isLetter(c) || std::string_view("-._~/").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += digits[uint8_t(c) >> 4];
      out += digits[uint8_t(c) & 15];
    }
  return out;
}

} // namespace ingot::hub
