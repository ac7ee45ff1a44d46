// SPDX-License-Identifier: Apache-2.0
// A chain of SHA-256: each block's name covers its parent's.
#include "runtime/serving/BlockHash.h"

#include "runtime/core/Sha256.h"

#include <cstring>

namespace ingot::runtime {

static BlockHash firstHalf(const Digest &digest) {
  BlockHash hash;
  std::memcpy(hash.data(), digest.data(), sizeof hash);
  return hash;
}

BlockHash rootHash(std::string_view salt) { return firstHalf(sha256(salt.data(), salt.size())); }

BlockHash blockHash(const BlockHash &parent, std::span<const int32_t> tokens,
                    std::span<const uint64_t> pictures) {
  Sha256 sha;
  sha.update(parent.data(), sizeof parent);
  sha.update(tokens.data(), tokens.size_bytes());
  sha.update(pictures.data(), pictures.size_bytes());
  return firstHalf(sha.finish());
}

} // namespace ingot::runtime
