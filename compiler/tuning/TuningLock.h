// SPDX-License-Identifier: Apache-2.0
// The tuning lockfile: for products of some size on some target, the kernel that was measured to be
// the fastest at each number of rows. Its text form is described in docs/tuning.md.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ingot::tuning {

using checkpoint::Error;
using checkpoint::Expected;

/// One line.
struct TuningEntry {
  std::string op; ///< "matmul"
  int64_t n = 0, k = 0;
  std::string format;          ///< of input and weight: "bf16*i4.64"
  std::string target;          ///< "sm_90a"
  int64_t first = 0, last = 0; ///< rows, inclusive
  std::string kernel;          ///< name among the target's kernels for such products
  std::string digest;          ///< of what that kernel was made from

  /// Operation, sizes and format: "matmul 4096 14336 bf16*i4.64".
  std::string product() const;

  bool operator==(const TuningEntry &) const = default;
};

/// All lines of a file, in order.
struct TuningLock {
  std::vector<TuningEntry> entries;

  /// INGOT-E2201 to E2203, with the line's number; `name` is the file's, for messages.
  static Expected<TuningLock> parse(std::string_view text, std::string_view name);
  /// The same for a file. Also the errors of checkpoint::readText.
  static Expected<TuningLock> read(const std::filesystem::path &path);

  /// The text with entries in order and without comments; `parse` gives the same entries.
  std::string str() const;

  bool operator==(const TuningLock &) const = default;
};

} // namespace ingot::tuning
