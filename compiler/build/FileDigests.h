// SPDX-License-Identifier: Apache-2.0
// The SHA-256 of files that are met at every start, read once for each content.
#pragma once

#include "codegen/BuildCache.h"
#include "compiler/checkpoint/files/Digest.h"

#include <functional>
#include <map>
#include <mutex>

namespace ingot::compiler {

/// Digests by the files' stamps, in this process and in a cache. Thread-safe.
class FileDigests {
public:
  /// `cache` may be null and outlives this.
  explicit FileDigests(codegen::BuildCache *cache) : cache(cache) {}

  /// The digest of a file, which is read unless it is known for the stamp that the file has now.
  /// Errors: those of sha256OfFile().
  checkpoint::Expected<checkpoint::Digest> of(const std::filesystem::path &file);

  /// What tells that a file is the same: its digest where a cache keeps that, else its stamp; empty
  /// where it cannot be read.
  std::string identity(const std::filesystem::path &file);

  /// Reads those of `files` that are not known, on several threads. Without any, `report` is not
  /// called; else with how many are done, of how many. What cannot be read is an error of of().
  void read(std::span<const std::filesystem::path> files, unsigned threads,
            const std::function<void(size_t done, size_t count)> &report);

  /// How many files were read.
  size_t filesRead() const { return reads; }

private:
  struct Known {
    std::string stamp;
    checkpoint::Digest digest;
  };
  std::optional<checkpoint::Digest> known(const std::string &name, const std::string &stamp);
  void keep(const std::string &name, const Known &entry);

  codegen::BuildCache *cache;
  std::atomic<size_t> reads = 0;
  std::mutex mutex; ///< of what follows
  std::map<std::string, Known> entries;
};

} // namespace ingot::compiler
