// SPDX-License-Identifier: Apache-2.0
// WholeFile: a file written front to back that appears under its name whole or not at all.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace ingot::quantize {

/// Writes into "<name>.tmp.XXXXXX" beside the final place, removed unless finish() succeeds.
class WholeFile {
public:
  /// The folder of `path` must exist. Errors: INGOT-E7010.
  static checkpoint::Expected<WholeFile> create(const std::filesystem::path &path);

  WholeFile(WholeFile &&other) noexcept;
  WholeFile &operator=(WholeFile &&other) noexcept;
  ~WholeFile();

  /// Errors: INGOT-E7011 (no space), E7012.
  checkpoint::Outcome append(std::span<const std::byte> bytes);
  /// Bytes appended so far.
  uint64_t size() const { return written; }

  /// Syncs, and gives the file its name, in place of one that has it. Errors: INGOT-E7011 to E7013.
  checkpoint::Outcome finish();

private:
  explicit WholeFile(std::filesystem::path path) : finalPath(std::move(path)) {}
  checkpoint::Error failed(int reason, const char *action) const;

  std::filesystem::path finalPath, temporaryPath;
  int descriptor = -1;
  uint64_t written = 0;
};

} // namespace ingot::quantize
