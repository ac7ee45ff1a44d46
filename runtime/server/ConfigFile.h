// SPDX-License-Identifier: Apache-2.0
// Options in a file: the part of YAML that a flat list of settings needs.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct ConfigEntry {
  std::string name; ///< of the option, without dashes
  std::vector<std::string> values;
  size_t line = 0;
};

/// Reads lines `name: value`, with plain or quoted values, lists of them in brackets or one below
/// the other after a dash, comments and blank lines. INGOT-E7217 names the first line that is
/// something else of YAML, or a name that comes twice.
Result<std::vector<ConfigEntry>> readConfig(std::string_view text);

/// The entries, of the file `path`, whose options or values a message about options speaks of:
/// "options.yaml, line 3 (--port)"; empty: it speaks of none.
std::string placesOf(std::string_view message, const std::string &path,
                     const std::vector<ConfigEntry> &entries);

} // namespace ingot::runtime
