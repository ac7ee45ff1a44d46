// SPDX-License-Identifier: Apache-2.0
// Ports are not compared: tunnels change them, and a page cannot choose another machine by one.
#include "runtime/server/AllowedHosts.h"

#include "runtime/server/HeaderValues.h"

#include <algorithm>
#include <arpa/inet.h>

namespace ingot::runtime {

static std::optional<std::string> hostOfWord(const std::string &word) {
  in6_addr address;
  bool isV6 = inet_pton(AF_INET6, word.c_str(), &address) == 1;
  return hostOf(isV6 ? '[' + word + ']' : word);
}

/// Whether a host, as hostOf() writes it, is this machine to everybody (RFC 6761, 6890).
static bool isLoopback(std::string_view host) {
  constexpr std::string_view mapped = "::ffff:";
  if (host == "localhost" || host.ends_with(".localhost") || host == "::1")
    return true;
  if (host.starts_with(mapped))
    host.remove_prefix(mapped.size());
  in_addr address;
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24 == 127;
}

AllowedHosts::AllowedHosts(const ServerOptions &options) : where(options.host) {
  constexpr std::string_view anyBelow = "*.";
  std::string own = hostOfWord(options.host).value_or("");
  bool onLoopback = options.unixSocket.empty() && isLoopback(own);
  all = !onLoopback && options.allowedHosts.empty();
  names.push_back(std::move(own));
  if (!options.unixSocket.empty())
    where = options.unixSocket;
  for (const std::string &word : options.allowedHosts) {
    if (word == "*")
      all = true;
    else if (word.starts_with(anyBelow))
      suffixes.push_back(lowerCase(word.substr(1)));
    else if (std::optional<std::string> name = hostOfWord(word))
      names.push_back(std::move(*name));
  }
}

bool AllowedHosts::admit(const std::string &host) const {
  auto endsHost = [&](const std::string &suffix) { return host.ends_with(suffix); };
  return all || host.empty() || isLoopback(host) ||
         std::find(names.begin(), names.end(), host) != names.end() ||
         std::any_of(suffixes.begin(), suffixes.end(), endsHost);
}

std::optional<ApiError> AllowedHosts::refuse(const std::string &host) const {
  if (admit(host))
    return std::nullopt;
  return ApiError{403,
                  "INGOT-E7225",
                  "this server listens at " + where + " and does not answer for the host '" + host +
                      "'; ask localhost, or start the server with --allowed-hosts " + host,
                  {}};
}

Status AllowedHosts::check(const std::vector<std::string> &hosts) {
  for (const std::string &word : hosts) {
    std::string name = word.starts_with("*.") ? word.substr(2) : word;
    std::optional<std::string> host = hostOfWord(name);
    in6_addr address;
    bool isV6 = inet_pton(AF_INET6, name.c_str(), &address) == 1;
    bool hasPort = !isV6 && name.find(':', name.starts_with('[') ? name.find(']') : 0) != name.npos;
    bool isName = host && !host->empty() && name.find('*') == name.npos && !hasPort;
    if (word != "*" && !isName)
      return Status::error("INGOT-E2103", "--allowed-hosts: '" + word + "' is no host",
                           "give a name or an address without scheme and port, *.DOMAIN for all "
                           "names below one, or * for all");
  }
  return {};
}

} // namespace ingot::runtime
