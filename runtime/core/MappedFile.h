// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory for reading, with zero bytes readable past its end.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ingot::runtime {

/// Move-only owner of a read-only mapping. At least 64 bytes past the end of the file are readable,
/// as the kernel ABI asks. The file must not be written to while it is mapped: a page that is cut
/// off raises SIGBUS when it is read, and others change under the reader. A new file of that name,
/// as by rename, does no harm.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  /// INGOT-E7101 when the file cannot be opened or mapped, or is not a regular file.
  static Result<MappedFile> open(const std::string &path);

  std::span<const uint8_t> bytes() const { return {base, size}; }

  /// INGOT-E7104 when what was mapped has since been written to.
  Status unchanged() const;

private:
  uint8_t *base = nullptr;
  size_t size = 0;
  size_t reserved = 0;
  std::string path;
  uint64_t device = 0, inode = 0; ///< which file `path` was
  int64_t modified = 0;           ///< when, in nanoseconds
};

} // namespace ingot::runtime
