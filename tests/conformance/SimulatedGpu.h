// SPDX-License-Identifier: Apache-2.0
// Runs single kernels of a CUDA target on the simulator, with its checks on.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/devices/cuda/Driver.h"
#include "tests/conformance/HostTensor.h"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace ingot::conformance {

/// How a simulated GPU behaves where hardware is free to choose.
struct SimulatedMode {
  cuda::AsyncCompletion completion = cuda::AsyncCompletion::Late;
  uint64_t warpOrderSeed = 0;
  uint32_t multiprocessors = 0; ///< 0: the usual number
  bool exactSums = false;       ///< tensor cores sum as the hardware does, not in f32 steps
};

/// One launch.
struct SimulatedLaunch {
  std::string symbol;
  std::string source; ///< the kernel's template
  runtime::KernelShape shape;
  int64_t grid[3] = {1, 1, 1};
  std::vector<int64_t> scalars;
  int64_t workspaceBytes = -1; ///< -1: the kernel takes none
  /// Places of the buffers that no kernel writes; earlier kernels may still write all others when
  /// a launch over a programmatic edge begins.
  std::set<size_t> weights;
};

/// A simulated device with its kernels. One at a time.
class SimulatedGpu {
public:
  /// Reports a GoogleTest failure and returns null when there is no simulator or it refuses.
  static std::unique_ptr<SimulatedGpu> open(const std::string &architecture,
                                            const SimulatedMode &mode);
  ~SimulatedGpu();

  /// Loads the kernel `symbol` from `ptx`.
  bool load(const std::string &symbol, const std::string &ptx);

  /// Runs the kernel over copies of `buffers`, which get what it leaves in them; from sm_90 on over
  /// a programmatic edge behind a kernel that writes all buffers but the weights. GoogleTest
  /// failures report what the simulator found, and counters of the workspace that are not left
  /// zero.
  bool run(const SimulatedLaunch &launch, std::vector<KernelBuffer> &buffers);

private:
  SimulatedGpu() = default;
  bool succeeded(cuda::DriverResult result, const std::string &what) const;
  /// Launches `kernel` and waits for it. `programmatic`: its predecessor may still be running.
  bool launch(cuda::Kernel kernel, const SimulatedLaunch &launch, std::vector<uint64_t> values,
              bool programmatic) const;
  /// Writes each buffer but the weights, from the device and without changing it.
  bool writeAll(const SimulatedLaunch &launch, const std::vector<KernelBuffer> &buffers,
                const std::vector<cuda::DevicePointer> &memory) const;
  bool reportFindings(const std::string &symbol) const;

  std::unique_ptr<runtime::Driver> driver;
  cuda::DeviceOrdinal device = 0;
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  std::vector<cuda::Library> libraries;
  std::map<std::string, cuda::Kernel> kernels;
  cuda::Kernel writer = nullptr; ///< where the architecture has programmatic launches
};

} // namespace ingot::conformance
