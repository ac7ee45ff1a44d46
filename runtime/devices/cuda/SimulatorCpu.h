// SPDX-License-Identifier: Apache-2.0
// What the simulator's code, built for x86-64-v3, needs of the CPU.
#pragma once

#include "runtime/core/Status.h"

#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A feature of the CPU, and whether this one has it.
struct CpuFeature {
  std::string_view name;
  bool present;
};

/// The features that the simulator's code uses.
std::vector<CpuFeature> simulatorFeatures();

/// INGOT-E6501, with the names, where one of `features` is missing: asked before the simulator is
/// loaded, whose first instruction may already be an illegal one.
Status checkSimulatorCpu(const std::vector<CpuFeature> &features);

} // namespace ingot::runtime
