// SPDX-License-Identifier: Apache-2.0
// The names under which a server answers. A page that lets its own name point at this machine (DNS
// rebinding) is of the same origin to its browser; only the name tells.
#pragma once

#include "runtime/server/ErrorBody.h"
#include "runtime/server/Options.h"

#include <optional>

namespace ingot::runtime {

/// Immutable.
class AllowedHosts {
public:
  /// Of a server at a loopback address, or with `allowedHosts`: names and addresses of loopback,
  /// its own address, and those. Of all others: every name.
  explicit AllowedHosts(const ServerOptions &options);

  /// INGOT-E7225, where a request may not ask this host. An empty one names nobody: no browser
  /// sends it.
  std::optional<ApiError> refuse(const std::string &host) const;

  /// INGOT-E2103: one of `hosts` is no name, address, "*" or "*.DOMAIN".
  static Status check(const std::vector<std::string> &hosts);

private:
  bool admit(const std::string &host) const;

  std::string where; ///< it listens
  bool all = false;
  std::vector<std::string> names;
  std::vector<std::string> suffixes; ///< of names, each with its dot
};

} // namespace ingot::runtime
