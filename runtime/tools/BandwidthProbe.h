// SPDX-License-Identifier: Apache-2.0
// How fast a device's memory is: the bound that generation runs against.
#pragma once

#include "runtime/devices/Device.h"

#include <memory>

namespace ingot::runtime {

/// Measures memory that is larger than the caches.
class BandwidthProbe {
public:
  virtual ~BandwidthProbe() = default;

  /// For the memory behind `device`, of which `bytes` are taken and stay taken as long as the
  /// device. The host's is read by `threads` threads in equal parts; another device copies one half
  /// to the other, which counts as reading and writing. INGOT-E6010, E6014, E6504.
  static Result<std::unique_ptr<BandwidthProbe>> create(Device &device, uint64_t bytes,
                                                        int64_t threads);

  /// Goes through everything once; bytes per second. INGOT-E6504.
  virtual Result<double> measure() = 0;
};

} // namespace ingot::runtime
