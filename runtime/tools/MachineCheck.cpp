// SPDX-License-Identifier: Apache-2.0
// Whether this machine will run an engine that is not built yet.
#include "runtime/devices/OpenDevice.h"
#include "runtime/tools/Commands.h"

#include <algorithm>

namespace ingot::runtime {

Status checkMachine(std::span<const TargetNeeds> targets) {
  std::vector<std::string_view> architectures;
  for (const TargetNeeds &target : targets)
    architectures.push_back(target.architecture);
  Result<std::unique_ptr<Device>> device = openDevice({}, architectures);
  if (!device.ok())
    return std::move(device).status();
  std::string names;
  for (const TargetNeeds &target : targets) {
    const bool runs = target.architecture == (*device)->architecture() &&
                      std::ranges::all_of(target.features, [&](const std::string &feature) {
                        return (*device)->hasFeature(feature);
                      });
    if (runs)
      return {};
    names += (names.empty() ? "" : ", ") + target.name;
  }
  return Status::error("INGOT-E5016",
                       "no target runs on this device (" + (*device)->description() + "): " + names,
                       "build the engine for a target this device has");
}

} // namespace ingot::runtime
