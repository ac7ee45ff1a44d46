// SPDX-License-Identifier: Apache-2.0
// The features of x86-64-v3 that a compiler may use.
#include "runtime/devices/cuda/SimulatorCpu.h"

namespace ingot::runtime {

std::vector<CpuFeature> simulatorFeatures() {
  __builtin_cpu_init();
  return {{"avx2", __builtin_cpu_supports("avx2") != 0},
          {"fma", __builtin_cpu_supports("fma") != 0},
          {"bmi", __builtin_cpu_supports("bmi") != 0},
          {"bmi2", __builtin_cpu_supports("bmi2") != 0},
          {"f16c", __builtin_cpu_supports("f16c") != 0},
          {"lzcnt", __builtin_cpu_supports("lzcnt") != 0},
          {"movbe", __builtin_cpu_supports("movbe") != 0}};
}

Status checkSimulatorCpu(const std::vector<CpuFeature> &features) {
  std::string missing;
  for (const CpuFeature &feature : features)
    if (!feature.present)
      missing += (missing.empty() ? "" : ", ") + std::string(feature.name);
  if (missing.empty())
    return {};
  return Status::error("INGOT-E6501",
                       "the simulator needs a CPU with AVX2, and this one lacks " + missing,
                       "simulate on an x86-64-v3 machine");
}

} // namespace ingot::runtime
