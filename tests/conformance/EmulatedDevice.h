// SPDX-License-Identifier: Apache-2.0
// The host as an emulated CPU (Bochs, in a process of its own), for levels of x86-64 that this
// machine may lack.
#pragma once

#include "runtime/devices/Device.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace ingot::conformance {

/// Whether --emulate was given: host kernels run in the emulated CPU, on the levels that it has.
bool &emulating();

/// A device of two threads whose kernels reach their library, their stacks and an arena with all of
/// the device's memory. An access beyond these is a failure, and so is an instruction that the CPU
/// does not have; it ends with the first, which reads report.
class EmulatedDevice final : public runtime::Device {
public:
  static runtime::Result<std::unique_ptr<EmulatedDevice>> open();
  ~EmulatedDevice() override;

  std::string_view architecture() const override { return "x86-64"; }
  bool hasFeature(std::string_view) const override { return true; }
  std::string description() const override { return "an emulated CPU"; }
  int64_t dimension(std::string_view name) const override;
  uint64_t availableMemory(uint64_t, double) const override { return UINT64_MAX; }
  std::string findings() const override;
  runtime::Status start(int64_t threads, uint64_t scratchBytes) override;
  runtime::Result<void *> allocate(uint64_t bytes) override;
  /// A copy: the file's bytes are not in the arena.
  runtime::Result<void *> adopt(std::span<const uint8_t> bytes) override;
  bool loads(runtime::CodeKind kind) const override {
    return kind == runtime::CodeKind::HostSharedObject;
  }
  /// Once: the process that emulates has one library.
  runtime::Result<size_t> loadLibrary(std::span<const uint8_t> code,
                                      const std::string &name) override;
  runtime::Result<runtime::DeviceKernel> kernel(size_t library, const std::string &symbol,
                                                const runtime::KernelShape &shape) override;
  void launch(const runtime::DeviceLaunch &launch) override;
  void copy(void *destination, const void *source, uint64_t bytes) override;
  void zero(void *destination, uint64_t bytes) override;
  void write(void *destination, const void *hostSource, uint64_t bytes) override;
  runtime::Status read(void *hostDestination, const void *source, uint64_t bytes) override;
  runtime::Status startTimer() override { return {}; }
  runtime::Result<double> stopTimer() override { return 0.0; }
  uint64_t cacheBytes() const override { return 0; }

private:
  EmulatedDevice() = default;
  /// Memory of the arena at a multiple of a page; null where there is no more.
  uint8_t *take(size_t bytes);
  /// Copies of `count` values in the arena.
  template <class T> T *put(const T *values, size_t count);
  /// Sends a line and reads the answer; false when the child is gone.
  bool ask(const std::string &line, std::string &answer);
  runtime::Status startChild(int library);

  uint8_t *arena = nullptr; ///< both processes have it at this address
  int memory = -1;          ///< its file
  size_t used = 0;
  uint64_t scratchBytes = 0;
  std::vector<uint8_t *> scratch; ///< of each thread, between canaries
  std::deque<std::string> symbols;
  bool scratchIsBroken = false;
  int child = -1;
  int channel = -1;
  runtime::Status failure;
};

} // namespace ingot::conformance
