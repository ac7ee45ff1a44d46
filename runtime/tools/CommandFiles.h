// SPDX-License-Identifier: Apache-2.0
// The files of a command, told before it works, so that it writes over none of its own.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <vector>

namespace ingot::runtime {

/// What an option's value is to a command, where it names a file.
enum class FileUse : uint8_t {
  None,
  Reads,
  ReadsIfThere, ///< what is not there is found out by who reads it, or is no file but a name
  Writes,
  MakesFolder, ///< writes it, and the folders above it
  WorksIn,     ///< a folder that is made, and removed with all that is in it
};

/// Which files a command reads and writes. Files are the same by device and inode, however they are
/// called; those that are not there yet, by their folder and name. Pipes and devices may be used
/// several times.
class CommandFiles {
public:
  /// `name`: what messages call the file, as "--report". "-" is no file that is read.
  void add(FileUse use, std::string name, std::filesystem::path path);

  /// Whether the command may begin. INGOT-E2163: it would write over a file that it reads, or
  /// that it writes too, or remove it with a folder. INGOT-E7101: a file cannot be read.
  /// INGOT-E7103: one cannot be written.
  Status check() const;

private:
  struct Entry {
    FileUse use;
    std::string name;
    std::filesystem::path path;

    bool isRead() const { return use <= FileUse::ReadsIfThere; }
    std::string shown() const;
  };
  static Status checkUse(const Entry &entry);
  static Status checkPair(const Entry &output, const Entry &other);

  std::vector<Entry> entries;
};

} // namespace ingot::runtime
