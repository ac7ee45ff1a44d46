// SPDX-License-Identifier: Apache-2.0
// How fast this machine reads memory: the bound that generation runs against.
#pragma once

#include "runtime/devices/host/ThreadPool.h"

namespace ingot::runtime {

/// A buffer larger than the caches, which all threads read in equal parts.
class BandwidthProbe {
public:
  BandwidthProbe(const BandwidthProbe &) = delete;
  ~BandwidthProbe();

  /// Allocates and fills `bytes`, rounded up to a part of equal pages for each thread.
  /// INGOT-E6010, E6014.
  static Result<std::unique_ptr<BandwidthProbe>> create(uint64_t bytes, int64_t threads);

  /// Reads everything once; bytes per second.
  double measure();

private:
  BandwidthProbe() = default;

  void *buffer = nullptr;
  uint64_t bytes = 0;
  std::unique_ptr<ThreadPool> pool;
};

} // namespace ingot::runtime
