// SPDX-License-Identifier: Apache-2.0
// SHA-256 through libcrypto's EVP interface.
#include "compiler/checkpoint/files/Digest.h"

#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <openssl/evp.h>
#include <vector>

namespace ingot::checkpoint {

struct Sha256::State {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool good = context && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  if (state->good)
    state->good = EVP_DigestUpdate(state->context, bytes.data(), bytes.size()) == 1;
}

Expected<Digest> Sha256::finish() {
  Digest digest{};
  unsigned length = 0;
  if (!state->good || EVP_DigestFinal_ex(state->context, digest.data(), &length) != 1 ||
      length != digest.size())
    return Error{"INGOT-E7006", "libcrypto cannot compute SHA-256", "",
                 "check the installation of OpenSSL, and its FIPS settings"};
  state->good = false;
  return digest;
}

std::string hex(const Digest &digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (uint8_t byte : digest) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

Expected<Digest> sha256(std::string_view text) {
  Sha256 sha;
  sha.update(std::as_bytes(std::span(text)));
  return sha.finish();
}

Expected<Digest> sha256OfFile(const std::filesystem::path &path) {
  auto file = File::open(path);
  if (!file)
    return file.error();
  Sha256 sha;
  std::vector<std::byte> piece(size_t{1} << 20);
  for (uint64_t offset = 0; offset < file->size(); offset += piece.size()) {
    auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), file->size() - offset));
    if (auto read = file->readAt(offset, part); !read)
      return read.error();
    sha.update(part);
  }
  return sha.finish();
}

} // namespace ingot::checkpoint
