// SPDX-License-Identifier: Apache-2.0
// Nothing that could break a line of a request gets into an address.
#include "runtime/tools/load/ServerAddress.h"

#include "runtime/tools/Table.h"

#include <algorithm>
#include <charconv>

namespace ingot::runtime {
namespace {

bool isPort(std::string_view word) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && value > 0 && value < 65536;
}

/// Characters of a host or path; others must be escaped in an address.
bool isPlain(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '<' && c != '>' && c != '\\' && c != '@' &&
           c != '#' && c != '?';
  });
}

} // namespace

Result<ServerAddress> ServerAddress::parse(std::string_view url) {
  auto refuse = [&](const std::string &what) {
    return Status::error(
        "INGOT-E7240", "'" + printable(url) + "' " + what,
        "write it as http://127.0.0.1:8000, with the host and port that the server listens at");
  };
  constexpr std::string_view scheme = "http://";
  if (url.starts_with("https://"))
    return refuse("asks for TLS, which a proxy in front of the server ends");
  if (!url.starts_with(scheme))
    return refuse("does not begin with http://");
  if (!isPlain(url))
    return refuse("has characters that no address has");
  std::string_view rest = url.substr(scheme.size());
  ServerAddress address;
  address.authority = rest.substr(0, rest.find('/'));
  address.path = rest.substr(address.authority.size());
  while (address.path.ends_with('/'))
    address.path.pop_back();
  if (address.path.ends_with("/v1"))
    address.path.resize(address.path.size() - 3);

  std::string_view host = address.authority;
  size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == host.npos)
    return refuse("has no ] after its [");
  if (size_t colon = host.find(':', bracket); colon != host.npos) {
    address.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (bracket > 0) {
    if (host.size() != bracket + 1)
      return refuse("has characters after its ]");
    host = host.substr(1, bracket - 1);
  }
  address.host = host;
  if (address.host.empty())
    return refuse("names no host");
  if (!isPort(address.port))
    return refuse("has no port of 1 to 65535 after its colon");
  return address;
}

} // namespace ingot::runtime
