// SPDX-License-Identifier: Apache-2.0
// A file of a repository on its way into the cache.
#pragma once

#include "compiler/hub/HubCache.h"
#include "compiler/hub/RepositoryListing.h"
#include "compiler/hub/Transfers.h"

namespace ingot::hub {

/// Bytes go to `blobs/DIGEST.incomplete`, where an earlier process may have left the first of them.
/// Whole, of the published size and digest, and on the disk, they get the name `blobs/DIGEST`.
class BlobFile : public Sink {
public:
  BlobFile(const HubCache &cache, const RemoteFile &file) : cache(cache), file(file) {}
  ~BlobFile() override;

  /// Errors of all: INGOT-E7311 (more bytes than published, or another digest), E7312, E7313.
  checkpoint::Expected<State> open() override;
  uint64_t have() const override { return size; }
  checkpoint::Outcome restart() override;
  checkpoint::Outcome take(std::span<const std::byte> bytes) override;
  checkpoint::Expected<bool> finish() override;

private:
  checkpoint::Outcome readKept();
  checkpoint::Outcome publish();
  void release();
  std::filesystem::path blob() const { return cache.blob(file.digest.hex); }
  std::filesystem::path incomplete() const { return blob().string() + ".incomplete"; }
  checkpoint::Error damaged(std::string what) const;

  const HubCache &cache;
  const RemoteFile &file;
  FileLock lock;
  int descriptor = -1;
  uint64_t size = 0;
  bool isResumed = false; ///< its first bytes are of an earlier process
  std::unique_ptr<BlobHash> hash;
};

/// Whether the blob of `file` is there, with its size.
bool isKept(const HubCache &cache, const RemoteFile &file);

} // namespace ingot::hub
