// SPDX-License-Identifier: Apache-2.0
// What tells without reading it that a file is still the one that was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <time.h>

namespace ingot::codegen {

/// Size and time of modification can be set to those of another file, and are equal in the images
/// of containers. The time of the last change of a file or its inode cannot.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  timespec modified = {}, changed = {};

  /// Nothing where there is no such file.
  static std::optional<FileStamp> of(const std::string &path);

  /// One line without its end; equal for equal stamps alone.
  std::string text() const;

  /// Waits until whatever changes the file from now on gives it another stamp, a few milliseconds
  /// after it was changed. False: that time is too far away, as where the clock of a server is
  /// ahead.
  bool settles() const;
};

} // namespace ingot::codegen
