// SPDX-License-Identifier: Apache-2.0
// What an import is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::compiler {

/// Positions of one KV block.
constexpr int64_t kKvBlockTokens = 16;

struct ImportOptions {
  int64_t maxContext = 0; ///< positions the engine is declared for; dynamic rotary scaling needs it
  bool inputScales = false; ///< products get the checkpoint's scale of their input
  bool kvScales = false;    ///< KV caches get the checkpoint's scales
  /// Gets the names of tensors that the engine is built without, unless null.
  std::vector<std::string> *unread = nullptr;
};

} // namespace ingot::compiler
