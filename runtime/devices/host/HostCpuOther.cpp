// SPDX-License-Identifier: Apache-2.0
// A CPU for which no target makes kernels: it can only lead other devices.
#include "runtime/devices/host/HostCpu.h"

#include <elf.h>

namespace ingot::runtime {

const CpuArchitecture kHostArchitecture = {"", EM_NONE};

std::vector<std::string_view> detectCpuFeatures() { return {}; }
std::string cpuModelName() { return "unknown CPU"; }

} // namespace ingot::runtime
