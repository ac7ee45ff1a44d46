// SPDX-License-Identifier: Apache-2.0
// Whether this machine will run an engine that is not built yet.
#include "runtime/devices/OpenDevice.h"
#include "runtime/engine/TargetChoice.h"
#include "runtime/tools/Commands.h"

namespace ingot::runtime {

Status checkMachine(std::span<const TargetNeeds> targets) {
  std::vector<std::string_view> architectures;
  for (const TargetNeeds &target : targets)
    architectures.push_back(target.architecture);
  Result<std::unique_ptr<Device>> device = openDevice({}, architectures);
  if (!device.ok())
    return std::move(device).status();
  std::string obstacles;
  for (const TargetNeeds &target : targets) {
    const std::string lack = lackOf(target.architecture, target.features, **device);
    if (lack.empty())
      return {};
    obstacles += "; target '" + target.name + "' " + lack;
  }
  return Status::error(
      "INGOT-E5016", "no target runs on this device (" + (*device)->description() + ")" + obstacles,
      "build the engine for a target this device has");
}

} // namespace ingot::runtime
