// SPDX-License-Identifier: Apache-2.0
// Mixing of 64 bits, with a seed of this process.
#pragma once

#include <cstdint>

namespace ingot::runtime::guided {

/// Differs from process to process, so that a request cannot be made of texts that collide.
uint64_t hashSeed();

/// `value` with all bits mixed (the finalizer of SplitMix64), seeded.
inline uint64_t mixed(uint64_t value) {
  static const uint64_t seed = hashSeed();
  value += seed;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
  value = (value ^ value >> 27) * 0x94D049BB133111EBu;
  return value ^ value >> 31;
}

} // namespace ingot::runtime::guided
