// SPDX-License-Identifier: Apache-2.0
// The seed of hashes: the clock, and where the system put this process.
#include "runtime/guided/Hash.h"

#include <chrono>

namespace ingot::runtime::guided {

uint64_t hashSeed() {
  static const int place = 0;
  auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return uint64_t(now) * 0x9E3779B97F4A7C15u ^ uint64_t(reinterpret_cast<uintptr_t>(&place));
}

} // namespace ingot::runtime::guided
