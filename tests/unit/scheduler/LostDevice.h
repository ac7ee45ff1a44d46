// SPDX-License-Identifier: Apache-2.0
// A device that is lost while it serves.
#pragma once

#include "runtime/devices/host/HostDevice.h"

#include <functional>

namespace ingot::test {

/// Fails for good once `left` reads are over: as a GPU whose context is lost, unless `fail` says
/// how.
class LostDevice final : public runtime::HostDevice {
public:
  using Failure = std::function<runtime::Status()>;
  static runtime::Status loseContext() {
    return runtime::Status::error("INGOT-E6506", "the context is lost");
  }

  explicit LostDevice(int left, Failure fail = loseContext)
      : HostDevice(1), left(left), fail(std::move(fail)) {}
  runtime::Status read(void *hostDestination, const void *source, uint64_t bytes) override {
    return left-- > 0 ? HostDevice::read(hostDestination, source, bytes) : fail();
  }

private:
  int left;
  const Failure fail;
};

} // namespace ingot::test
