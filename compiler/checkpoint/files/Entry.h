// SPDX-License-Identifier: Apache-2.0
// Whether a folder has an entry of a name.
#pragma once

#include <filesystem>

namespace ingot::checkpoint {

/// A link that leads nowhere is an entry: what it stands for is missing, which reading it says.
inline bool isThere(const std::filesystem::path &path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

} // namespace ingot::checkpoint
