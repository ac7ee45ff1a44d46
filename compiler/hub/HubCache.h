// SPDX-License-Identifier: Apache-2.0
// The folder that programs of the Hub share.
#pragma once

#include "compiler/hub/ModelName.h"
#include "compiler/hub/Selection.h"

#include <filesystem>
#include <optional>
#include <utility>

namespace ingot::hub {

/// A file that one process at a time works on; the lock is given up with it.
class FileLock {
public:
  FileLock() = default;
  FileLock(FileLock &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  FileLock &operator=(FileLock &&other) noexcept {
    FileLock old(std::move(*this));
    descriptor = std::exchange(other.descriptor, -1);
    return *this;
  }
  ~FileLock();

  /// Takes the lock at `path`, making the file and its folders. False: another process has it.
  /// Error: INGOT-E7313.
  checkpoint::Expected<bool> take(const std::filesystem::path &path);

private:
  int descriptor = -1;
};

/// One repository's part of the folder: bytes by digest in `blobs`, names as relative links to
/// them in `snapshots/COMMIT`, commits of branches and tags in `refs`.
class HubCache {
public:
  HubCache(std::filesystem::path cacheFolder, const ModelName &name);

  std::filesystem::path blob(const std::string &hex) const { return folder / "blobs" / hex; }
  std::filesystem::path snapshot(const std::string &commit) const {
    return folder / "snapshots" / commit;
  }
  /// The lock of a blob, which other programs take too.
  std::filesystem::path lock(const std::string &hex) const { return locks / (hex + ".lock"); }

  /// Makes the folders. Error: INGOT-E7313.
  checkpoint::Outcome prepare() const;
  /// The commit that a revision was when it was fetched last.
  std::optional<std::string> commitOf(const std::string &revision) const;
  /// Notes it, in one step. Error: INGOT-E7313.
  checkpoint::Outcome setCommit(const std::string &revision, const std::string &commit) const;
  /// Gives a blob the safe name `name` in the snapshot, in one step. Error: INGOT-E7313.
  checkpoint::Outcome link(const std::string &commit, const std::string &name,
                           const std::string &hex) const;
  /// The files of a snapshot whose bytes are there.
  std::vector<NamedSize> filesOf(const std::string &commit) const;

private:
  std::filesystem::path folder, locks;
};

/// A repository of which something is there.
struct PulledModel {
  std::string name;                   ///< ORG/REPO
  std::vector<std::string> revisions; ///< branches and tags that were fetched
  uint64_t bytes = 0;                 ///< of all blobs, also those not whole
};

/// All in the folder, by name.
std::vector<PulledModel> pulledModels(const std::filesystem::path &cacheFolder);

/// Removes all of a repository. Error: INGOT-E7313.
checkpoint::Outcome removePulled(const std::filesystem::path &cacheFolder, const ModelName &name);

/// INGOT-E7313 with the system's reason, or INGOT-E7312 where that is a lack of space.
checkpoint::Error cannotKeep(const std::filesystem::path &path, int reason);

} // namespace ingot::hub
