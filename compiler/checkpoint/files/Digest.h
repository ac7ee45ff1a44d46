// SPDX-License-Identifier: Apache-2.0
// SHA-256 of the files and texts an engine is made from. The library behind it is chosen in
// docs/decisions/0010-digests.md.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace ingot::checkpoint {

using Digest = std::array<uint8_t, 32>;

/// 64 lower-case hexadecimal digits.
std::string hex(const Digest &digest);

/// SHA-256 of a text.
Expected<Digest> sha256(std::string_view text);

/// SHA-256 of a whole file, read in pieces of one MiB.
/// Errors: those of File, and INGOT-E7006 when the library refuses to work.
Expected<Digest> sha256OfFile(const std::filesystem::path &path);

/// SHA-256 of bytes that arrive piece by piece.
class Sha256 {
public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256 &) = delete;
  Sha256 &operator=(const Sha256 &) = delete;

  void update(std::span<const std::byte> bytes);

  /// The digest of all bytes so far; call it once, last. Error: INGOT-E7006.
  Expected<Digest> finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace ingot::checkpoint
