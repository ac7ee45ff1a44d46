// SPDX-License-Identifier: Apache-2.0
// What devices that stand in front of another one have in common.
#pragma once

#include "runtime/devices/Device.h"

#include <memory>

namespace ingot::runtime {

/// Forwards every call, so that what runs here runs as it does without this class.
class ForwardingDevice : public Device {
public:
  explicit ForwardingDevice(std::unique_ptr<Device> owned)
      : owned(std::move(owned)), device(this->owned.get()) {}
  /// `other` must outlive this.
  explicit ForwardingDevice(Device &other) : device(&other) {}

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
    return device->start(threads, scratchBytes);
  }
  Result<void *> allocate(uint64_t bytes) override { return device->allocate(bytes); }
  Result<void *> adopt(std::span<const uint8_t> bytes) override { return device->adopt(bytes); }
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
  std::unique_ptr<Device> owned;
  Device *device;
};

} // namespace ingot::runtime
