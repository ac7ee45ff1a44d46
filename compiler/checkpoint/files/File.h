// SPDX-License-Identifier: Apache-2.0
// File: a regular file read at any offset. Weights are read with pread, not mapped, so that the
// builder's resident memory is what it allocates and nothing else.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace ingot::checkpoint {

/// An open regular file. Movable; closes itself. Safe to read from several threads at once.
class File {
public:
  /// Opens `path` for reading. Follows symbolic links; refuses anything but a regular file, and
  /// what Git LFS leaves in a file's place. Errors: INGOT-E7001, E7002, E7007.
  static Expected<File> open(const std::filesystem::path &path);

  File(File &&other) noexcept;
  File &operator=(File &&other) noexcept;
  ~File();

  /// Bytes in the file when it was opened.
  uint64_t size() const { return bytes; }
  const std::filesystem::path &path() const { return filePath; }

  /// Fills `out` with the bytes from `offset` on. Fails (INGOT-E7004) when the file ends first.
  Outcome readAt(uint64_t offset, std::span<std::byte> out) const;

private:
  File(int descriptor, uint64_t bytes, std::filesystem::path path);

  int descriptor = -1;
  uint64_t bytes = 0;
  std::filesystem::path filePath;
};

/// The whole of a text file of at most `maxBytes` bytes. Errors: those of File, and INGOT-E7005.
Expected<std::string> readText(const std::filesystem::path &path, uint64_t maxBytes);

} // namespace ingot::checkpoint
