// SPDX-License-Identifier: Apache-2.0
// The CPU: its architecture, and the instruction-set features that the operating system supports
// too. One file for each architecture says so; CMake takes the one of the build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// What kernels must be made for.
struct CpuArchitecture {
  std::string_view name; ///< as engines call it; empty where no target makes kernels for it
  uint16_t elfMachine;   ///< as ELF files call it
};
extern const CpuArchitecture kHostArchitecture;

/// Names as LLVM spells them ("avx2", "avx512vnni", "amx-tile"), sorted. Asks the kernel for
/// permission to use AMX tiles, which it grants per process, and lists AMX only when granted.
std::vector<std::string_view> detectCpuFeatures();

/// "Intel(R) Xeon(R) ..." as the CPU states it; "unknown CPU" when it does not.
std::string cpuModelName();

} // namespace ingot::runtime
