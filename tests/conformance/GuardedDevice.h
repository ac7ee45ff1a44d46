// SPDX-License-Identifier: Apache-2.0
// Devices that show what kernels do beside their work: each buffer of the arena stands alone, with
// canaries around it.
#pragma once

#include "runtime/devices/host/HostDevice.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::conformance {

/// What stands around buffers and scratch memory. Odd, so that nothing is aligned to more than the
/// kernel ABI says.
inline constexpr uint64_t kMargin = 5 * INGOT_BUFFER_ALIGNMENT;
inline constexpr uint8_t kCanary = 0xcb;

/// Whether nothing was written over these canaries.
bool areIntact(std::span<const uint8_t> canaries);

/// A library of this name has no code: kernels that it stands for load, and must not be launched.
inline constexpr const char *kLeftOut = "left out";

/// The host, whose kernels have canaries around their scratch memory. One at a time.
class GuardedHost final : public runtime::HostDevice {
public:
  explicit GuardedHost(int64_t threads) : HostDevice(threads) {}

  runtime::Status start(int64_t threads, uint64_t scratchBytes) override;
  void launch(const runtime::DeviceLaunch &launch) override;
  std::string findings() const override;
};

/// A device in front of another. What it allocates is addresses alone; `place` gives the buffers at
/// these addresses memory, each of its own. Kernels get that, while the engine's executor keeps to
/// its plan. Weights are the other device's.
class GuardedDevice final : public runtime::Device {
public:
  explicit GuardedDevice(std::unique_ptr<runtime::Device> device);
  ~GuardedDevice() override;

  /// A buffer of the executor's.
  struct Buffer {
    std::string name;
    void *address = nullptr; ///< in what `allocate` gave; null: a weight
    uint64_t bytes = 0;
    bool zeroed = false; ///< else filled with 0xff
  };

  /// Addresses in the order of the calls of `allocate`.
  const std::vector<void *> &allocations() const { return addresses; }

  /// Says which buffers there are. Those that are written and read by their addresses share these
  /// with no other.
  runtime::Status place(std::vector<Buffer> buffers);

  /// The buffers, by index, that the next launch gets.
  void expect(std::vector<size_t> arguments) { expected = std::move(arguments); }

  /// On a GPU with programmatic launches: before each launch, a kernel writes all of its buffers
  /// but weights, and the launch need not wait for it to end.
  runtime::Status writeBeforeLaunches();

  /// What a buffer holds.
  runtime::Result<std::vector<uint8_t>> content(size_t buffer);

  /// The last launch, without its buffers.
  struct Launch {
    runtime::KernelShape shape;
    std::string kernel;
    int64_t grid[3] = {0, 0, 0};
    std::vector<int64_t> scalars;
  };
  const Launch &lastLaunch() const { return last; }

  /// Waits for the device and looks at all canaries.
  runtime::Status check();
  /// What was found so far, a line each; the other device's too.
  std::string findings() const override { return found + device->findings(); }

  std::string_view architecture() const override { return device->architecture(); }
  bool hasFeature(std::string_view feature) const override { return device->hasFeature(feature); }
  std::string description() const override { return device->description(); }
  int64_t dimension(std::string_view name) const override { return device->dimension(name); }
  uint64_t availableMemory(uint64_t bytes, double fraction) const override {
    return device->availableMemory(bytes, fraction);
  }
  runtime::Status start(int64_t threads, uint64_t scratchBytes) override {
    return device->start(threads, scratchBytes);
  }
  runtime::Result<void *> allocate(uint64_t bytes) override;
  runtime::Result<void *> adopt(std::span<const uint8_t> bytes) override {
    return device->adopt(bytes);
  }
  bool loads(runtime::CodeKind kind) const override { return device->loads(kind); }
  runtime::Result<size_t> loadLibrary(std::span<const uint8_t> code,
                                      const std::string &name) override;
  runtime::Result<runtime::DeviceKernel> kernel(size_t library, const std::string &symbol,
                                                const runtime::KernelShape &shape) override;
  void launch(const runtime::DeviceLaunch &launch) override;
  void copy(void *destination, const void *source, uint64_t bytes) override;
  void zero(void *destination, uint64_t bytes) override;
  void write(void *destination, const void *hostSource, uint64_t bytes) override;
  runtime::Status read(void *hostDestination, const void *source, uint64_t bytes) override;
  runtime::Status startTimer() override { return device->startTimer(); }
  runtime::Result<double> stopTimer() override { return device->stopTimer(); }
  uint64_t cacheBytes() const override { return device->cacheBytes(); }

private:
  struct Placed {
    Buffer buffer;
    uint8_t *memory = nullptr; ///< the other device's
  };

  bool isGpu() const;
  /// The memory behind an address of a buffer, which is no weight.
  uint8_t *memoryAt(const void *address, uint64_t bytes);
  void writeAll();
  void checkMargin(const Placed &placed, uint8_t *margin, uint64_t bytes, const char *where);
  void find(const std::string &what) { found += what + "\n"; }

  std::unique_ptr<runtime::Device> device;
  std::vector<void *> addresses;
  std::vector<std::pair<void *, size_t>> reserved;
  std::vector<Placed> placed;
  std::vector<size_t> expected;
  runtime::DeviceKernel writer; ///< without an entry: nothing is written before launches
  Launch last;
  std::string found;
  runtime::Status failure; ///< the first of a check
};

} // namespace ingot::conformance
