// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU through the driver's interface, or the simulator of one.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/devices/cuda/Driver.h"
#include "runtime/devices/cuda/PinnedReads.h"
#include "runtime/devices/cuda/PinnedRing.h"

#include <array>
#include <map>

namespace ingot::runtime {

/// Which GPU, or which simulated one.
struct CudaOptions {
  int32_t ordinal = 0;
  std::string simulate = {}; ///< architecture to simulate ("sm_90a"); empty: the real device
  cuda::SimulatorOptions simulator = {}; ///< of the simulated device, but for the architecture
  LaunchDiagnosis diagnosis = {};
};

class CudaDevice final : public Device {
public:
  /// Takes the device's primary context. INGOT-E6501 to E6503.
  static Result<std::unique_ptr<CudaDevice>> open(const CudaOptions &options);
  /// The same with a driver that is loaded already.
  static Result<std::unique_ptr<CudaDevice>> openOn(std::unique_ptr<Driver> driver,
                                                    const CudaOptions &options);
  ~CudaDevice() override;

  std::string_view architecture() const override { return arch; }
  bool hasFeature(std::string_view) const override { return false; }
  std::string description() const override { return name; }
  /// Knows "sms", the number of multiprocessors, and "threads", which is the same here.
  int64_t dimension(std::string_view dim) const override;
  int32_t driverVersion() const override { return version; }
  uint64_t availableMemory(uint64_t weightBytes, double fraction) const override;
  std::string findings() const override;

  Status start(int64_t threads, uint64_t scratchBytes) override;
  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> adopt(std::span<const uint8_t> bytes) override;
  bool loads(CodeKind kind) const override {
    return kind == (driver->isSimulator() ? CodeKind::Ptx : CodeKind::Cubin);
  }
  Result<size_t> loadLibrary(std::span<const uint8_t> code, const std::string &name) override;
  Result<DeviceKernel> kernel(size_t library, const std::string &symbol,
                              const KernelShape &shape) override;

  void launch(const DeviceLaunch &launch) override;
  void copy(void *destination, const void *source, uint64_t bytes) override;
  void zero(void *destination, uint64_t bytes) override;
  void write(void *destination, const void *hostSource, uint64_t bytes) override;
  Status read(void *hostDestination, const void *source, uint64_t bytes) override;

  uint64_t startedReadBytes() const override { return PinnedReads::capacity; }
  void startRead(const void *source, uint64_t bytes) override;
  Status finishRead(void *hostDestination) override;

  bool replay(uint64_t key) override;
  void beginRecording(uint64_t key) override;
  void endRecording() override;
  void forget(uint64_t key) override;

  Status startTimer() override;
  Result<double> stopTimer() override;
  uint64_t cacheBytes() const override;

private:
  CudaDevice() = default;
  Status configureSimulator(const CudaOptions &options);
  Status takeContext(int32_t ordinal);
  Status readFacts();
  /// 0 where the driver does not know it.
  int32_t attribute(cuda::DeviceAttribute attribute) const;
  /// Makes the context current on the calling thread; false after the first failure, when nothing
  /// is asked of the driver any more.
  bool enter();
  /// Success, or an error with `code`: the device's failure where the context is at its end.
  Status checked(cuda::DriverResult result, const char *code, const std::string &what);
  Status prepareKernel(cuda::Kernel kernel, const KernelShape &shape);
  /// Keeps the first failure: INGOT-E6504, or E6506 where the context is at its end. `what` was
  /// being done.
  void note(cuda::DriverResult result, const std::string &what);
  void fail(Status status);
  /// `note` of what was put on the stream; waits for it first where that is asked for. `what`: a
  /// text, or a function that makes one, which only a failure calls.
  cuda::DriverResult waitForEach();
  template <class Text> void settle(cuda::DriverResult result, const Text &what);
  /// The arguments of a launch in the driver's form; false: it cannot be made, which was noted.
  bool bindArguments(const DeviceLaunch &launch);
  /// Map number `index` of a launch, made again only for other rows than the last time; null: it
  /// cannot be made, which was noted.
  const cuda::TensorMap *tensorMap(size_t index, const DeviceLaunch &launch);
  void launchAlone(const DeviceLaunch &launch, const uint32_t (&grid)[3]);
  void recordLaunch(const DeviceLaunch &launch, const uint32_t (&grid)[3]);
  cuda::DriverResult addNode(cuda::GraphNodeParameters &parameters);

  std::unique_ptr<Driver> driver;
  cuda::DeviceOrdinal device = 0;
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  std::string arch, name;
  int32_t version = 0, sms = 0;
  bool programmatic = false; ///< kernels overlap with the one before
  LaunchDiagnosis diagnosis;

  std::vector<cuda::DevicePointer> allocations;
  std::map<const uint8_t *, std::pair<void *, uint64_t>> adopted;
  std::vector<cuda::Library> libraries;
  std::unique_ptr<PinnedRing> ring;
  std::unique_ptr<PinnedReads> reads;
  std::vector<uint64_t> values; ///< of the launch being made
  std::vector<void *> arguments;
  /// What has been encoded, by address, place among a kernel's maps and recipe but for the rows,
  /// which are beside it: a step of another size needs no room of its own.
  std::map<std::array<uint64_t, 7>, std::pair<uint64_t, cuda::TensorMap>> maps;
  Status failure;     ///< the first one; every later call returns it
  bool lost = false;  ///< the failure ended the context
  bool stuck = false; ///< something on the stream never ends
  cuda::Event timerStart = nullptr, timerEnd = nullptr, each = nullptr; ///< made on first use

  /// The program being recorded, and what was recorded before.
  cuda::Graph graph = nullptr;
  cuda::GraphNode lastNode = nullptr;
  bool lastIsKernel = false;
  uint64_t recordingKey = 0;
  std::map<uint64_t, cuda::GraphExec> recordings;
};

} // namespace ingot::runtime
