// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: memory of the process, kernels from shared objects, launches on threads.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/devices/host/HostCpu.h"
#include "runtime/devices/host/SharedObject.h"
#include "runtime/devices/host/ThreadPool.h"

#include <chrono>

namespace ingot::runtime {

class HostDevice : public Device {
public:
  /// Reads the CPU's features; `threads` 0 means as many as this process may use. `remark` ends the
  /// description: why it is this device.
  explicit HostDevice(int64_t threads = 0, std::string remark = {});
  ~HostDevice() override;

  std::string_view architecture() const override { return kHostArchitecture.name; }
  bool hasFeature(std::string_view feature) const override;
  std::string description() const override;
  /// Knows "threads".
  int64_t dimension(std::string_view name) const override;

  uint64_t availableMemory(uint64_t weightBytes, double fraction) const override;

  Status start(int64_t threads, uint64_t scratchBytes) override;
  /// Memory of several nodes is spread over them, since all threads read it.
  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> adopt(std::span<const uint8_t> bytes) override;
  bool loads(CodeKind kind) const override { return kind == CodeKind::HostSharedObject; }
  Result<size_t> loadLibrary(std::span<const uint8_t> code, const std::string &name) override;
  Result<DeviceKernel> kernel(size_t library, const std::string &symbol,
                              const KernelShape &shape) override;

  void launch(const DeviceLaunch &launch) override;
  void copy(void *destination, const void *source, uint64_t bytes) override;
  void zero(void *destination, uint64_t bytes) override;
  void write(void *destination, const void *hostSource, uint64_t bytes) override;
  Status read(void *hostDestination, const void *source, uint64_t bytes) override;

  Status startTimer() override;
  Result<double> stopTimer() override;
  uint64_t cacheBytes() const override;

private:
  struct Region {
    void *base;
    size_t bytes;
  };

  /// Untouched memory, zeros, until the device ends.
  Result<Region> map(uint64_t bytes);

  int64_t threads;
  std::string remark;
  std::vector<std::string_view> features;
  std::vector<int> nodes; ///< of memory
  bool spreads;           ///< whether there are several and the system spreads memory over them
  std::vector<Region> regions;
  std::vector<SharedObject> libraries;
  std::unique_ptr<ThreadPool> pool;
  std::chrono::steady_clock::time_point started;
};

} // namespace ingot::runtime
