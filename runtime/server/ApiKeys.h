// SPDX-License-Identifier: Apache-2.0
// The keys of which a client must give one.
#pragma once

#include "runtime/core/Sha256.h"
#include "runtime/core/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Immutable once loaded. Without keys everybody is let in.
class ApiKeys {
public:
  ApiKeys() = default;
  /// Reads a file of one key a line; blank lines and those that begin with '#' say nothing.
  /// INGOT-E7101: no such file. INGOT-E7218: it holds no key, or one that no header can carry.
  static Result<ApiKeys> load(const std::string &path);

  /// Whether a header `authorization` ("Bearer KEY") or `x-api-key` (the key alone) lets its sender
  /// in; empty: it did not come. What it takes does not depend on how much of a key is right.
  bool admits(std::string_view authorization, std::string_view xApiKey = {}) const;

private:
  bool has(std::string_view key) const;

  std::vector<Digest> digests;
};

} // namespace ingot::runtime
