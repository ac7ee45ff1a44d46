// SPDX-License-Identifier: Apache-2.0
// A folder for files of one command, which leaves nothing however the command ends.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <filesystem>
#include <sys/types.h>

namespace ingot::compiler {

/// Removed, with everything in it, with this object; or else when this process, also as the program
/// that it becomes by exec, has ended, if by a signal.
class TemporaryFolder {
public:
  /// `name` and six random letters, below the system's temporary folder. Error: INGOT-E7021.
  static checkpoint::Expected<TemporaryFolder> create(const std::string &name);
  TemporaryFolder(TemporaryFolder &&other) noexcept;
  TemporaryFolder &operator=(TemporaryFolder &&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path &path() const { return folder; }

private:
  explicit TemporaryFolder(std::filesystem::path folder);

  std::filesystem::path folder; ///< empty: moved away
  int held = -1;                ///< the end of a pipe whose other end sees this process end
  pid_t watcher = -1;
};

} // namespace ingot::compiler
