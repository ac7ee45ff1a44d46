// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), with the CPU's SHA instructions where it has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot::runtime {

using Digest = std::array<uint8_t, 32>;

/// The digest of data that arrives in pieces.
class Sha256 {
public:
  Sha256();
  void update(const void *data, size_t bytes);
  /// The digest of everything so far; the object is used up.
  Digest finish();

private:
  uint32_t state[8];
  uint8_t pending[64];
  uint64_t total = 0;
};

Digest sha256(const void *data, size_t bytes);

/// 64 lower-case hexadecimal digits.
std::string toHex(const Digest &digest);

} // namespace ingot::runtime
