// SPDX-License-Identifier: Apache-2.0
// Pseudo-random numbers of a workload: equal on every machine for a seed.
#pragma once

#include <cmath>
#include <cstdint>

namespace ingot::runtime {

/// The generator splitmix64. The distributions of the standard library differ between libraries.
class RandomStream {
public:
  explicit RandomStream(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t value = state += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }
  /// From 0 up, below 1.
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  /// Both ends included; `most` is at least `least`.
  int64_t between(int64_t least, int64_t most) {
    return least + int64_t(next() % (uint64_t(most) - uint64_t(least) + 1));
  }
  /// The time to the next event of a Poisson process.
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

private:
  uint64_t state;
};

} // namespace ingot::runtime
