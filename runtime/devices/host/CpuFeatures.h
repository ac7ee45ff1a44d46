// SPDX-License-Identifier: Apache-2.0
// Instruction-set features of this CPU that the operating system also supports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Names as LLVM spells them ("avx2", "avx512vnni", "amx-tile"), sorted. Asks the kernel for
/// permission to use AMX tiles, which it grants per process, and lists AMX only when granted.
std::vector<std::string_view> detectCpuFeatures();

/// "Intel(R) Xeon(R) ..." as the CPU states it; "unknown CPU" when it does not.
std::string cpuModelName();

} // namespace ingot::runtime
