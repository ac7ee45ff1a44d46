// SPDX-License-Identifier: Apache-2.0
// A device that counts what is asked of another one, to hold it against the memory contract.
#pragma once

#include "runtime/tools/ForwardingDevice.h"

#include <algorithm>
#include <map>

namespace ingot::runtime {

/// Adds up the bytes.
class MeasuringDevice final : public ForwardingDevice {
public:
  explicit MeasuringDevice(std::unique_ptr<Device> device) : ForwardingDevice(std::move(device)) {}

  uint64_t allocatedBytes() const { return allocated; }
  /// Of all threads.
  uint64_t scratchBytes() const { return scratch; }
  /// Of the file, each range once.
  uint64_t adoptedBytes() const {
    uint64_t sum = 0;
    for (const auto &[start, bytes] : adopted)
      sum += bytes;
    return sum;
  }

  Status start(int64_t threads, uint64_t scratchBytes) override {
    scratch = uint64_t(threads) * scratchBytes;
    return ForwardingDevice::start(threads, scratchBytes);
  }
  Result<void *> allocate(uint64_t bytes) override {
    allocated += bytes;
    return ForwardingDevice::allocate(bytes);
  }
  Result<void *> adopt(std::span<const uint8_t> bytes) override {
    uint64_t &known = adopted[bytes.data()];
    known = std::max(known, uint64_t(bytes.size()));
    return ForwardingDevice::adopt(bytes);
  }

private:
  uint64_t allocated = 0, scratch = 0;
  std::map<const uint8_t *, uint64_t> adopted;
};

} // namespace ingot::runtime
