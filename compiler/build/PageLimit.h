// SPDX-License-Identifier: Apache-2.0
// A bound on what a mapped file adds to the memory of this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <thread>
#include <vector>

namespace ingot::compiler {

/// While it lives, this process gives the pages of a mapped file back when it has more than so many
/// bytes in memory. Whoever reads them again has them from the system's cache of files, or from
/// disk.
class PageLimit {
public:
  /// `file` is mapped already, read-only and shared. `bytes`: of the whole process.
  PageLimit(const std::filesystem::path &file, uint64_t bytes);

private:
  void watch(const std::stop_token &stop) const;

  uint64_t bytes;
  std::vector<std::span<std::byte>> mappings;
  std::jthread watcher; ///< ends first
};

} // namespace ingot::compiler
