// SPDX-License-Identifier: Apache-2.0
// Prefers a GPU that an engine has code for.
#include "runtime/devices/OpenDevice.h"

#include "runtime/devices/cuda/CudaDevice.h"
#include "runtime/devices/host/HostDevice.h"

#include <algorithm>

namespace ingot::runtime {

Result<std::unique_ptr<Device>> openDevice(const DeviceRequest &request,
                                           std::span<const std::string_view> architectures) {
  CudaOptions cuda;
  cuda.simulate = request.simulate;
  cuda.simulator.multiprocessors = request.simulatedSms;
  cuda.simulator.checks =
      request.simulateStrictly ? cuda::SimulatorChecks::Full : cuda::SimulatorChecks::Bounds;
  cuda.diagnosis = request.diagnosis;
  auto forCuda = [](std::string_view name) { return name.starts_with("sm_"); };
  std::string remark;
  bool onlyCuda = std::all_of(architectures.begin(), architectures.end(), forCuda);
  if (!request.simulate.empty() ||
      std::any_of(architectures.begin(), architectures.end(), forCuda)) {
    Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(cuda);
    bool wanted = device.ok() && std::find(architectures.begin(), architectures.end(),
                                           (*device)->architecture()) != architectures.end();
    if (device.ok() && (wanted || onlyCuda || !request.simulate.empty()))
      return std::unique_ptr<Device>(std::move(*device));
    if (onlyCuda || !request.simulate.empty() || (!device.ok() && request.diagnosis.any()))
      return std::move(device).status();
    remark =
        "not on a GPU: " + (device.ok() ? "the engine has no code for " + (*device)->description()
                                        : device.status().toString());
  }
  if (request.diagnosis.any())
    return Status::error("INGOT-E6505",
                         "--no-graphs, --no-dependent-launch and --sync-each are about launches on "
                         "a GPU, and the engine would run on the host",
                         "leave them out, or name a target of the GPU with --target");
  return std::unique_ptr<Device>(std::make_unique<HostDevice>(request.threads, std::move(remark)));
}

} // namespace ingot::runtime
