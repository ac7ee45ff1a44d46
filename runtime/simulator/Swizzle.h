// SPDX-License-Identifier: Apache-2.0
// The swizzles of tensor copies and wgmma descriptors.
#pragma once

#include <cstdint>

namespace ingot::simulator {

/// Where a byte of shared memory lies: kind 1 to 3 exchanges 16-byte units within 32, 64, 128 bytes
/// by bits 7 and up of the address.
inline uint32_t swizzled(uint32_t address, uint32_t kind) {
  uint32_t mask = kind == 0 ? 0 : (1u << kind) - 1;
  return address ^ (address >> 7 & mask) << 4;
}

} // namespace ingot::simulator
