// SPDX-License-Identifier: Apache-2.0
// A device that is lost while it serves.
#pragma once

#include "runtime/devices/host/HostDevice.h"

namespace ingot::test {

/// Fails for good once `left` reads are over, as a GPU whose context is lost.
class LostDevice final : public runtime::HostDevice {
public:
  explicit LostDevice(int left) : HostDevice(1), left(left) {}
  runtime::Status read(void *hostDestination, const void *source, uint64_t bytes) override {
    if (left-- <= 0)
      return runtime::Status::error("INGOT-E6506", "the context is lost");
    return HostDevice::read(hostDestination, source, bytes);
  }

private:
  int left;
};

} // namespace ingot::test
