// SPDX-License-Identifier: Apache-2.0
// The two digests by which a Hub tells of files.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace ingot::hub {

/// A digest as it is published; its text is also the name that the file's bytes have on disk.
struct PublishedDigest {
  enum class Kind : uint8_t {
    Sha256, ///< of large files: of their bytes
    GitBlob ///< of others: SHA-1 of git's header "blob SIZE\0" and their bytes
  };
  Kind kind = Kind::Sha256;
  std::string hex; ///< lower-case
};

/// The digest of bytes that arrive piece by piece.
class BlobHash {
public:
  /// Of a file of `bytes` bytes.
  BlobHash(PublishedDigest::Kind kind, uint64_t bytes);
  ~BlobHash();
  BlobHash(const BlobHash &) = delete;
  BlobHash &operator=(const BlobHash &) = delete;

  void update(std::span<const std::byte> bytes);
  /// As text; call it once, last. Error: INGOT-E7006.
  checkpoint::Expected<std::string> finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace ingot::hub
