// SPDX-License-Identifier: Apache-2.0
// The kernel's random generator.
#include "runtime/core/SystemRandom.h"

#include <chrono>
#include <sys/random.h>

namespace ingot::runtime {

uint64_t systemRandom() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
    bits =
        uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()) * 0x9e3779b97f4a7c15u;
  return bits;
}

} // namespace ingot::runtime
