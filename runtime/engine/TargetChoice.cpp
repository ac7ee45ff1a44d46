// SPDX-License-Identifier: Apache-2.0
// Compares what each target needs with what the device has.
#include "runtime/engine/TargetChoice.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/KernelAbi.h"

#include <cstdio>
#include <vector>

namespace ingot::runtime {
namespace {

/// "12.8" as the driver counts, 12080; 0 when it is no such text.
int32_t versionOf(const std::string &text) {
  int major = 0, minor = 0;
  return std::sscanf(text.c_str(), "%4d.%2d", &major, &minor) == 2 ? 1000 * major + 10 * minor : 0;
}

/// What else keeps the device from running the target; empty when nothing does.
std::string obstacle(const schema::Target &target, const Device &device) {
  if (target.kernel_abi() != INGOT_KERNEL_ABI_VERSION)
    return "has kernel ABI " + std::to_string(target.kernel_abi()) + ", this runtime has " +
           std::to_string(INGOT_KERNEL_ABI_VERSION);
  if (int32_t minimum = target.minimum_driver() ? versionOf(target.minimum_driver()->str()) : 0;
      minimum > device.driverVersion())
    return "needs a driver of CUDA " + target.minimum_driver()->str() + ", this one is of " +
           std::to_string(device.driverVersion() / 1000) + "." +
           std::to_string(device.driverVersion() % 1000 / 10);
  return "";
}

} // namespace

std::string lackOf(std::string_view architecture, std::span<const std::string> features,
                   const Device &device) {
  if (architecture != device.architecture())
    return "is for " + std::string(architecture) + ", this device is " +
           std::string(device.architecture());
  std::string needed, missing;
  for (const std::string &feature : features) {
    needed += (needed.empty() ? "" : " ") + feature;
    if (!device.hasFeature(feature))
      missing += (missing.empty() ? "" : " ") + feature;
  }
  return missing.empty() ? "" : "needs " + needed + "; missing here: " + missing;
}

Result<uint32_t> chooseTarget(const schema::Engine &engine, const Device &device,
                              std::string_view forced) {
  std::string obstacles, names;
  int64_t best = -1;
  bool named = false;
  for (uint32_t i = 0; i < engine.targets()->size(); ++i) {
    const schema::Target &target = *engine.targets()->Get(i);
    names += (names.empty() ? "" : ", ") + target.name()->str();
    if (!forced.empty() && target.name()->string_view() != forced)
      continue;
    named = true;
    std::vector<std::string> features;
    for (uint32_t feature = 0; feature < count(target.features()); ++feature)
      features.push_back(target.features()->Get(feature)->str());
    std::string problem = lackOf(target.arch()->string_view(), features, device);
    if (problem.empty())
      problem = obstacle(target, device);
    if (!problem.empty())
      obstacles += "; target '" + target.name()->str() + "' " + problem;
    else if (best < 0 || target.preference() > engine.targets()->Get(uint32_t(best))->preference())
      best = i;
  }
  if (!named)
    return Status::error("INGOT-E5017", "the engine has no target '" + std::string(forced) + "'",
                         "choose one of: " + names);
  if (best < 0)
    return Status::error("INGOT-E5016",
                         "no target runs on this device (" + device.description() + ")" + obstacles,
                         "build the engine for a target this device has");
  return uint32_t(best);
}

} // namespace ingot::runtime
