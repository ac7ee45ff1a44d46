// SPDX-License-Identifier: Apache-2.0
// Through libcrypto's EVP interface, as the digests of inputs (decision 0010).
#include "compiler/hub/BlobHash.h"

#include <openssl/evp.h>

using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;

namespace ingot::hub {

struct BlobHash::State {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool good = false;
  ~State() { EVP_MD_CTX_free(context); }
};

BlobHash::BlobHash(PublishedDigest::Kind kind, uint64_t bytes) : state(std::make_unique<State>()) {
  const bool isGit = kind == PublishedDigest::Kind::GitBlob;
  state->good = state->context &&
                EVP_DigestInit_ex(state->context, isGit ? EVP_sha1() : EVP_sha256(), nullptr) == 1;
  const std::string header = "blob " + std::to_string(bytes);
  if (isGit)
    update(std::as_bytes(std::span(header.c_str(), header.size() + 1)));
}

BlobHash::~BlobHash() = default;

void BlobHash::update(std::span<const std::byte> bytes) {
  if (state->good)
    state->good = EVP_DigestUpdate(state->context, bytes.data(), bytes.size()) == 1;
}

Expected<std::string> BlobHash::finish() {
  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!state->good || EVP_DigestFinal_ex(state->context, digest, &length) != 1)
    return Error{"INGOT-E7006", "libcrypto cannot compute SHA-256 or SHA-1", "",
                 "check the installation of OpenSSL, and its FIPS settings"};
  state->good = false;
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : std::span(digest, length)) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace ingot::hub
