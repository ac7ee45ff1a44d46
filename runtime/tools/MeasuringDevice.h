// SPDX-License-Identifier: Apache-2.0
// A device that counts what is asked of another one, to hold it against the memory contract.
#pragma once

#include "runtime/devices/Device.h"

#include <algorithm>
#include <map>
#include <memory>

namespace ingot::runtime {

/// Forwards every call to `device`, so that what runs here runs as it does without this class, and
/// adds up the bytes.
class MeasuringDevice final : public Device {
public:
  explicit MeasuringDevice(std::unique_ptr<Device> device) : device(std::move(device)) {}

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

  std::string_view architecture() const override { return device->architecture(); }
  bool hasFeature(std::string_view feature) const override { return device->hasFeature(feature); }
  std::string description() const override { return device->description(); }
  int64_t dimension(std::string_view name) const override { return device->dimension(name); }
  int32_t driverVersion() const override { return device->driverVersion(); }
  std::string findings() const override { return device->findings(); }
  uint64_t availableMemory(uint64_t weightBytes, double fraction) const override {
    return device->availableMemory(weightBytes, fraction);
  }
  Status start(int64_t threads, uint64_t scratchBytes) override {
    scratch = uint64_t(threads) * scratchBytes;
    return device->start(threads, scratchBytes);
  }
  Result<void *> allocate(uint64_t bytes) override {
    allocated += bytes;
    return device->allocate(bytes);
  }
  Result<void *> adopt(std::span<const uint8_t> bytes) override {
    uint64_t &known = adopted[bytes.data()];
    known = std::max(known, uint64_t(bytes.size()));
    return device->adopt(bytes);
  }
  bool loads(CodeKind kind) const override { return device->loads(kind); }
  Result<size_t> loadLibrary(std::span<const uint8_t> code, const std::string &name) override {
    return device->loadLibrary(code, name);
  }
  Result<DeviceKernel> kernel(size_t library, const std::string &symbol,
                              const KernelShape &shape) override {
    return device->kernel(library, symbol, shape);
  }
  void launch(const DeviceLaunch &launch) override { device->launch(launch); }
  void copy(void *destination, const void *source, uint64_t bytes) override {
    device->copy(destination, source, bytes);
  }
  void zero(void *destination, uint64_t bytes) override { device->zero(destination, bytes); }
  void write(void *destination, const void *hostSource, uint64_t bytes) override {
    device->write(destination, hostSource, bytes);
  }
  Status read(void *hostDestination, const void *source, uint64_t bytes) override {
    return device->read(hostDestination, source, bytes);
  }
  uint64_t startedReadBytes() const override { return device->startedReadBytes(); }
  void startRead(const void *source, uint64_t bytes) override { device->startRead(source, bytes); }
  Status finishRead(void *hostDestination) override { return device->finishRead(hostDestination); }
  bool replay(uint64_t key) override { return device->replay(key); }
  void beginRecording(uint64_t key) override { device->beginRecording(key); }
  void endRecording() override { device->endRecording(); }
  void forget(uint64_t key) override { device->forget(key); }
  Status startTimer() override { return device->startTimer(); }
  Result<double> stopTimer() override { return device->stopTimer(); }
  uint64_t cacheBytes() const override { return device->cacheBytes(); }

private:
  std::unique_ptr<Device> device;
  uint64_t allocated = 0, scratch = 0;
  std::map<const uint8_t *, uint64_t> adopted;
};

} // namespace ingot::runtime
